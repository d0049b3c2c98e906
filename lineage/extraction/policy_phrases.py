"""Tables of phrases that no memory may hold: talk about the assistant itself, and standing permissions.

Patterns are in folded form and match whole words, except in `phrases.UNSPACED`. Scope and confirmation protect, not
these filters: they keep the worst out of the pending book. (reliability: poisoned memory; lessons: 17, 19)
"""

_PERMIT_EN = r"(?:approv(?:e|es|al|als|ing)|confirm(?:s|ing|ation|ations)?|permissions?|consent|authori[sz]ations?)"
_NO_EN = (
    r"(?:always|never|must|mustn't|automatically|auto|without|no|not|don't|doesn't|bypass|skip(?:s|ping)?|omit"
    r"|disable[sd]?|ignore[sd]?|stop|avoid)"
)
_RULES_EN = r"(?:rules?|instructions?|polic(?:y|ies)|guidelines?|guardrails?|safety|safeguards?|restrictions?)"
_STANDING_EN = (
    r"(?:automat\w+|auto\w*|all|any|every\w*|always|future|without|advance|standing|blanket|execut\w+|run(?:s|ning)?"
    r"|delet\w+|drop\w*|sql|commands?|scripts?|deploy\w*|push\w*|access|permissions?|tools?|actions?|operations?|requests?)"
)

# Statements about the assistant itself: such a fact brings about the behaviour that it describes.
SELF_REFERENCE: dict[str, tuple[str, ...]] = {
    "en": (
        r"(?:the|this|your|my|an?) (?:ai )?assistant", r"(?:as )?an ai", r"ai (?:assistant|agent)", r"language model",
        r"(?:the|this|your) (?:ai|agent|model|bot|chatbot|llm)"
        r" (?:is|isn't|has|can|can't|cannot|could|must|should|shall|will|won't|may|does|doesn't|never|always|tends"
        r"|refuses|prefers|needs|behaves|responds)",
        r"(?:claude|chatgpt|gpt|codex|gemini|copilot|qwen)"
        r" (?:can|can't|cannot|could|must|should|shall|will|won't|may|never|always|tends|refuses|prefers|doesn't)",
        r"^i (?:am|can|can't|cannot|must|should|always|never|tend|refuse) (?:an ai|not|\w+ to)",
    ),
    "pt": (
        r"(?:o|um) assistente", r"a ia (?:e|nao|pode|deve|sempre|nunca|tem)", r"modelo de linguagem",
        r"(?:o agente|claude|chatgpt|codex|gemini) (?:nao|pode|deve|sempre|nunca|precisa)",
    ),
    "de": (
        r"(?:der|ein|dieser) assistent", r"die ki (?:ist|kann|darf|muss|soll|hat|wird)", r"sprachmodell",
        r"(?:der agent|claude|chatgpt|codex|gemini) (?:kann|darf|muss|soll|wird|immer|nie|niemals)",
    ),
    "es": (
        r"(?:el|un) asistente", r"la ia (?:es|no|puede|debe|siempre|nunca|tiene)", r"modelo de lenguaje",
        r"(?:el agente|claude|chatgpt|codex|gemini) (?:no|puede|debe|siempre|nunca|tiene)",
    ),
    "fr": (
        r"(?:l'|un )assistant", r"l'ia (?:est|ne|peut|doit|a)", r"modele de langage",
        r"(?:l'agent|claude|chatgpt|codex|gemini) (?:ne|n'|peut|doit|toujours|jamais)",
    ),
    "ja": (
        r"アシスタント(?:は|が|に)", r"aiは", r"言語モデル",
        r"(?:エージェント|claude|chatgpt|codex|gemini)は[^。]{0,30}(?:べき|なければ|できない|できません|しない|てはいけない)",
    ),
    "zh": (
        r"(?:ai|智能)?(?:助手|助理)(?:不|必须|应该|可以|会|是|总是|永远)", r"语言模型", r"人工智能助手",
        r"(?:claude|chatgpt|codex|gemini|智能体)(?:不|必须|应该|可以|总是|永远|绝不)",
    ),
}  # fmt: skip

# Standing approvals, skipped confirmations, rules set aside: a memory grants nothing.
PERMISSION: dict[str, tuple[str, ...]] = {
    "en": (
        rf"{_NO_EN} (?:[\w-]+[ ,]+){{0,5}}{_PERMIT_EN}",
        rf"{_PERMIT_EN} (?:[\w-]+[ ,]+){{0,4}}(?:not|never|unnecessary|optional|skipped)",
        r"(?:never|mustn't|don't|do not|without) (?:[\w-]+[ ,]+){0,3}ask(?:ing)?",
        r"auto-?(?:approv|confirm|accept|execut)\w*",
        rf"(?:ignore|bypass|disable|override|disregard|forget) (?:[\w-]+[ ,]+){{0,4}}{_RULES_EN}",
        r"(?:user|users|owner|admin|administrator|maintainer|i|we)(?: has| have|'ve)?(?: already| always| pre)?[ -]"
        r"?(?:pre-?)?(?:approved?|authori[sz]ed?|permit(?:s|ted)?|allow(?:s|ed)?|granted?|consent(?:s|ed)?)"
        rf" (?:[\w'-]+[ ,]+){{0,6}}{_STANDING_EN}",
        r"(?:has|have|granted?|gives?|given|gave) (?:[\w-]+ ){0,3}(?:permission|authori[sz]ation|consent|approval)",
        r"(?:full|unrestricted|unlimited|root|admin) (?:access|permissions?)",
    ),
    "pt": (
        r"(?:sempre|nunca|sem|pul[ae]r?|ignor[ae]r?|dispens[ae]r?|nao) (?:\w+[ ,]+){0,4}"
        r"(?:aprov\w+|confirm\w+|permiss\w+|autoriz\w+|pedir|pergunt\w+)",
        r"ignor\w+ (?:\w+ ){0,3}(?:regras?|instruc\w+|politicas?)",
        r"(?:usuario|utilizador|eu|nos)(?: ja)? (?:aprovou|autorizou|permitiu|aprovei|autorizei) (?:\w+ ){0,6}"
        r"(?:automatic\w+|tod[oa]s?|qualquer|sempre|sem|exec\w+|comandos?|sql|acess\w+)",
        r"(?:deu|dou|concedeu|tem) (?:\w+ ){0,2}(?:permissao|autorizacao)",
    ),
    "de": (
        r"(?:immer|nie|niemals|ohne|keine[rn]?|uberspring\w*|ignorier\w*|nicht) (?:\w+[ ,]+){0,4}"
        r"(?:genehmig\w*|bestatig\w*|freigabe\w*|freigeben|erlaubnis|zustimmung|ruckfrage\w*|nachfrag\w*|nachzufragen|fragen)",
        r"(?:genehmigung|bestatigung|freigabe|erlaubnis|ruckfrage)(?:en)? (?:\w+ ){0,3}"
        r"(?:uberspring\w*|weglassen|ignorieren|nicht notig|unnotig)",
        r"(?:ignorier\w*|umgeh\w*|missacht\w*) (?:\w+ ){0,3}(?:regeln?|anweisung\w*|richtlinien?|vorgaben)",
        r"(?:regeln|anweisungen|richtlinien) (?:\w+ ){0,3}(?:ignorieren|umgehen|missachten)",
        r"(?:benutzer|nutzer|anwender|user)(?:in)? (?:hat|haben) (?:\w+ ){0,8}"
        r"(?:genehmigt|erlaubt|freigegeben|zugestimmt)",
    ),
    "es": (
        r"(?:siempre|nunca|sin|omit\w+|salt\w+|ignor\w+|no) (?:\w+[ ,]+){0,4}"
        r"(?:aprob\w+|aprueb\w+|confirm\w+|permisos?|autoriz\w+|pedir|pregunt\w+)",
        r"ignor\w+ (?:\w+ ){0,3}(?:reglas?|instruccion\w*|politicas?)",
        r"(?:usuario|yo|nosotros)(?: ya)?(?: ha)? (?:aprobado|aprobo|autorizado|autorizo|permitido|permitio)"
        r" (?:\w+ ){0,6}(?:automatic\w+|tod[oa]s?|cualquier\w*|siempre|sin|ejec\w+|comandos?|sql|acces\w+)",
        r"(?:dio|ha dado|concedio|tiene) (?:\w+ ){0,2}(?:permiso|autorizacion)",
    ),
    "fr": (
        r"(?:toujours|jamais|sans|saut\w+|ignor\w+|pas|ne) (?:[\w']+[ ,]+){0,4}(?:d'|l'|les |la )?"
        r"(?:approuv\w*|approbations?|confirm\w*|permissions?|autoris\w+|demander)",
        r"ignor\w+ (?:\w+ ){0,3}(?:regles?|instructions?|consignes?)",
        r"(?:l')?utilisateur a(?: deja)? (?:approuve|autorise|permis|valide|accepte) (?:[\w']+ ){0,6}(?:d'|l')?"
        r"(?:automatiqu\w+|tou[ts]\w*|chaque|toujours|sans|execut\w+|commandes?|sql|acces)",
        r"(?:a donne|donne|accorde) (?:\w+ ){0,2}(?:permission|autorisation)",
    ),
    "ja": (
        r"(?:承認|確認|許可|同意)(?:を|は|なし|せず|の)[^。]{0,20}(?:スキップ|省略|不要|求めない|求めず|なし|なしで|飛ば)",
        r"(?:承認|確認|許可)(?:なし|せず)", r"(?:常に|必ず|自動(?:的)?に?)[^。]{0,20}(?:承認|許可)",
        r"自動(?:的に|で)[^。]{0,10}実行|自動実行",
        r"(?:ルール|規則|指示|ポリシー)(?:を)?[^。]{0,10}無視", r"ユーザー?(?:は|が)[^。]{0,40}(?:承認|許可|同意)",
    ),
    "zh": (
        r"(?:跳过|无需|無需|不需要|不用|不必|省略|绝不|从不|永远不要|自动|总是|始终|一律)[^。]{0,12}(?:批准|确认|確認|许可|授权|审批|询问|同意|权限)",
        r"(?:忽略|无视|绕过)[^。]{0,12}(?:规则|指令|指示|政策|限制|说明)",
        r"用户(?:已经?|已)?[^。]{0,6}(?:批准|授权|同意|允许|许可)",
    ),
}  # fmt: skip

# Phrases that ask for more care, not for less: they are masked before permissions are looked for.
SAFEGUARD: dict[str, tuple[str, ...]] = {
    "en": (
        r"(?:never|don't|do not|must not|mustn't|may not|nothing|not) (?:[\w-]+ ){0,5}without"
        r"(?: (?:my|an?|the|explicit))*",
        r"(?:always|must) (?:ask|require|request|wait|get|seek)(?: me)?(?: for)?(?: (?:my|an?|the|explicit))*",
    ),
    "pt": (r"(?:nunca|nao) (?:\w+ ){0,5}sem", r"sempre (?:peca|pedir|pergunte|perguntar|exija)"),
    "de": (r"(?:nie|niemals|nicht|nichts) (?:\w+ ){0,5}ohne", r"immer (?:erst |vorher |zuerst )?(?:fragen|nachfragen)"),
    "es": (r"(?:nunca|no) (?:\w+ ){0,5}sin", r"siempre (?:pide|pedir|pregunta|preguntar|exige)"),
    "fr": (r"(?:jamais|pas|ne|rien) (?:[\w']+ ){0,5}sans", r"toujours (?:demander|demande|demandez)"),
    "ja": (r"(?:なし|せず)(?:に|で|は)?[^。]{0,20}(?:ない|禁止)",),
    "zh": (r"(?:不要|不得|禁止|不能)[^。]{0,12}(?:跳过|省略)",),
}
