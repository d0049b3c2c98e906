export type Credentials = {
    username: string;
    password: string;
    token?: string;
};
export interface ApiKey {
    id: string;
    key: string;
    secret: string | null;
    createdAt: Date;
    lastUsed?: Date;
}
export declare enum TokenKind {
    Access = "access_token",
    Refresh = "refresh_token",
    Csrf = "csrf_token",
    Id = "id_token"
}
export declare const passwordSchema: any;
export declare const loginSchema: any;
export declare function validate(values: Credentials & {
    passwordConfirmation?: string;
    apiKey?: string;
}): Record<string, string>;
export declare class LoginForm extends HTMLElement {
    private password;
    private token;
    private readonly csrfToken;
    connectedCallback(): void;
    submit(data: FormData): Promise<void>;
    refresh(refreshToken: string): Promise<string>;
    reset(): void;
}
export declare const apiKeyColumns: {
    key: string;
    title: string;
}[];
export declare const cacheKeys: {
    user: (id: number) => (string | number)[];
    token: (kind: TokenKind) => string;
    secret: string;
    passwordPolicy: string;
};
export declare function tokenize(source: string): {
    type: string;
    value: string;
}[];
export declare function strength(password: string): number;
