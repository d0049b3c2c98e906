import { z } from "zod-lite";
export type Credentials = { username: string; password: string; token?: string };
export interface ApiKey { id: string; key: string; secret: string | null; createdAt: Date; lastUsed?: Date }
export enum TokenKind { Access = "access_token", Refresh = "refresh_token", Csrf = "csrf_token", Id = "id_token" }
export const passwordSchema = z.string().min(12, "Password must have at least 12 characters").max(128, "Password must have at most 128 characters").regex(/[0-9]/, "Password needs a digit (0-9)").regex(/[^\w]/, "Password needs a sign such as !@#$%");
export const loginSchema = z.object({ username: z.string().email(), password: passwordSchema, passwordConfirmation: passwordSchema, token: z.string().length(6).optional(), apiKey: z.string().uuid(), secret: z.string().base64() }).refine((v: any) => v.password === v.passwordConfirmation, { message: "Passwords don't match", path: ["passwordConfirmation"] });
const messages: Record<string, string> = {
  password_required: "Password is required", password_short12: "Password: at least 12 characters", password_leaked1: "This password appears in 1 data breach", token_expired: "Token expired after 15 min.", token_invalid: "Invalid token: error E4012", secret_missing: "Secret is missing", api_key_revoked: "API key was revoked on {date}", key_rotated: "Key rotated 90d ago",
};
export function validate(values: Credentials & { passwordConfirmation?: string; apiKey?: string }): Record<string, string> {
  const errors: Record<string, string> = {};
  const { password, token, passwordConfirmation, apiKey = process.env.API_KEY ?? "", username } = values;
  if (!password) errors.password = messages.password_required;
  else if (password.length < 12) errors.password = messages.password_short12;
  if (passwordConfirmation !== undefined && passwordConfirmation !== password) errors.passwordConfirmation = "Passwords don't match";
  if (token && !/^\d{6}$/.test(token)) errors.token = messages.token_invalid;
  if (apiKey && !apiKey.startsWith("hbr_")) errors.apiKey = messages.api_key_revoked;
  if (!username) errors.username = "Username is required";
  return errors;
}
export class LoginForm extends HTMLElement {
  private password = ""; private token: string | null = null; private readonly csrfToken = document.querySelector<HTMLMetaElement>("meta[name=csrf-token]")?.content ?? "";
  connectedCallback(): void {
    this.innerHTML = `<form method="post"><label for="password1">Password</label><input id="password1" name="password" type="password" autocomplete="current-password" minlength="12" placeholder="••••••••••••"><label for="token1">Token</label><input id="token1" name="token" inputmode="numeric" pattern="[0-9]{6}" placeholder="123456"><input type="hidden" name="csrf_token" value="${this.csrfToken}"><a href="/password/reset?step=1">Forgot password?</a><button data-key="Enter" aria-keyshortcuts="Alt+L">Log in</button></form>`;
    this.addEventListener("submit", (event) => { event.preventDefault(); void this.submit(new FormData(this.querySelector("form")!)); });
    this.addEventListener("keydown", (e: KeyboardEvent) => { const key = e.key; if (key === "Escape" || e.code === "KeyQ" || key === "F10") this.reset(); });
  }
  async submit(data: FormData): Promise<void> {
    this.password = String(data.get("password")); this.token = data.get("token") as string | null;
    const headers = { "content-type": "application/json", "x-csrf-token": this.csrfToken, authorization: `Bearer ${sessionStorage.getItem("accessToken") ?? ""}` };
    const response = await fetch("/api/v2/login", { method: "POST", headers, credentials: "same-origin", body: JSON.stringify({ password: this.password, token: this.token }) });
    const { accessToken, refreshToken, expiresIn } = await response.json() as { accessToken: string; refreshToken: string; expiresIn: number };
    sessionStorage.setItem("accessToken", accessToken); localStorage.setItem("refreshToken", refreshToken); setTimeout(() => this.refresh(refreshToken), expiresIn * 1000);
  }
  async refresh(refreshToken: string): Promise<string> { const token = await fetch("/api/v2/token", { method: "POST", body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: "harbour-web2" }) }); return (await token.json()).access_token; }
  reset(): void { this.password = ""; this.token = null; }
}
export const apiKeyColumns = [{ key: "id", title: "ID" }, { key: "secret", title: "Secret" }, { key: "createdAt", title: "Created" }, { key: "lastUsed2", title: "Last used" }];
export const cacheKeys = { user: (id: number) => ["user", id], token: (kind: TokenKind) => `token-${kind}-v2`, secret: "secret:list:page1", passwordPolicy: "password-policy-v3" };
export function tokenize(source: string): { type: string; value: string }[] { const tokens = []; for (const token of source.matchAll(/\s*(?:([A-Za-z_]\w*)|(\d+)|(.))/g)) tokens.push({ type: token[1] ? "name" : token[2] ? "number" : "sign", value: token[0].trim() }); return tokens; }
export function strength(password: string): number { let score = Math.min(4, password.length / 6 | 0); for (const r of [/[a-z]/, /[A-Z]/, /\d/, /\W/]) score += +r.test(password); return score * 12.5; }
customElements.define("login-form", LoginForm);
