"""The rules before there was a score, for comparison: language → kind → cues of a preference, a decision and so on.

Patterns are in folded form (lower case, no accents, straight quotes: `normalize.fold_text`) and linear: alternations of
phrases, with bounded gaps at most. In languages that put spaces between words they match whole words only.
"""

from lineage.extraction.sentence_kinds import CONTEXT, DECISION, FACT, LESSON, PREFERENCE, TASK

CUES: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        PREFERENCE: (
            r"i(?:'d| would)? (?:really |strongly |generally |usually |much )?prefer", r"i'd rather", r"we prefer",
            r"i (?:really )?like (?:my|to|it when)", r"i (?:hate|dislike|don't like|do not like)",
            r"i (?:always|never) (?:use|want)", r"^(?:and |but |so |also |please |please, )*(?:always|never) \w+",
            r"from now on", r"my (?:preferred|preference|favou?rite)", r"don't ever",
        ),
        DECISION: (
            r"decided (?:to|on|that|against|for)", r"we(?:'ve| have)? decided",
            r"(?:we(?:'ll| will| are going to)|let'?s) (?:use|go with|keep|stick with|adopt|switch to)",
            r"i(?:'ll| will) use", r"chose", r"we (?:picked|went with)", r"settled on", r"agreed (?:to|on|that)",
            r"use [^\s]+ instead",
        ),
        LESSON: (
            r"root cause", r"turn(?:s|ed) out", r"learn(?:ed|t) that", r"lessons? learn(?:ed|t)", r"gotcha",
            r"the (?:bug|problem|issue|cause|culprit) (?:is|was) (?:that|in|the|a|an|caused by|due to)",
            r"(?:is|was|were) caused by", r"we (?:discovered|found out|realised|realized) that",
            r"the (?:fix|trick) (?:is|was) to",
        ),
        TASK: (
            r"todo", r"to-do", r"fixme", r"next steps?", r"remaining", r"still (?:needs?|fails?|to do|open|missing)",
            r"left to do", r"follow[- ]?up", r"not yet", r"don't forget to", r"remind me to",
        ),
        FACT: (
            r"(?:the (?:project|repo|repository|codebase|app|application|service|backend|frontend|server|api|database"
            r"|team|pipeline|build)|our \w+|we) (?:uses?|runs? on|lives? in|requires?|depends? on|targets?)",
            r"(?:is|are) (?:written in|hosted (?:on|at|in)|deployed (?:on|to|in)|stored in|located (?:in|at))",
            r"my name is", r"i work (?:at|for|as)", r"i live in",
        ),
        CONTEXT: (
            r"(?:i am|i'm|we are|we're) (?:currently |now |still )?(?:working on|building|writing|migrating|developing"
            r"|trying to|preparing|analy[sz]ing|refactoring|porting)",
            r"(?:my|our|the) (?:goal|deadline|aim) is", r"for this (?:session|task)",
        ),
    },
    "pt": {
        PREFERENCE: (
            r"prefir[oa]", r"preferimos", r"eu gosto de", r"nao gosto de", r"de agora em diante", r"minha preferencia",
            r"^(?:por favor,? )?(?:sempre|nunca) \w+", r"(?:use|usa|escreva|faca|rode) sempre",
        ),
        DECISION: (
            r"decidi(?:mos|u-se|do|da)?", r"escolh(?:i|emos|ido|ida)", r"opt(?:amos|ei) por", r"adot(?:amos|ei)",
            r"vamos (?:usar|adotar|manter|ficar com)",
        ),
        LESSON: (
            r"aprend(?:i|emos)", r"licao", r"descobri(?:mos)? que", r"a causa(?: raiz)? (?:e|era|foi)", r"acontece que",
            r"o (?:problema|erro) (?:e|era|foi|estava)",
        ),
        TASK: (
            r"pendentes?", r"proximos? passos?", r"faltam? \w+r", r"ainda (?:falta|faltam|precisa|precisamos)",
            r"por fazer", r"nao (?:se )?esquec\w+", r"lembre-me de",
        ),
        FACT: (
            r"(?:o (?:projeto|servidor|servico|repositorio|banco de dados)|a (?:aplicacao|api|equipe)|noss[oa] \w+)"
            r" (?:usa|utiliza|roda em|fica em|esta em|depende de|e escrit[oa]|exige)",
            r"usamos", r"utilizamos", r"meu nome e", r"trabalho (?:na|no|como)",
        ),
        CONTEXT: (
            r"esta(?:mos|ou) (?:a )?\w+(?:ndo|ar|er|ir)", r"estou (?:a )?\w+(?:ndo|ar|er|ir)",
            r"(?:o|meu|nosso) (?:objetivo|prazo) e",
        ),
    },
    "de": {
        PREFERENCE: (
            r"ich bevorzuge", r"ich ziehe", r"ich (?:mag|hasse)", r"mir ist \w+ lieber", r"am liebsten",
            r"ich (?:hatte|will|mochte) (?:lieber|gern|gerne|immer|nie)", r"(?:bitte )(?:immer|nie|niemals)",
            r"^(?:immer|nie|niemals) \w+", r"(?:verwende|nutze|benutze|schreibe?) (?:bitte )?(?:immer|nie|niemals)",
            r"ab (?:jetzt|sofort)",
        ),
        DECISION: (
            r"entschieden", r"beschlossen", r"geeinigt", r"wir (?:nehmen|bleiben bei|setzen auf|wechseln (?:zu|auf))",
            r"wir entscheiden uns fur", r"lass(?:t)? uns \w+ (?:nehmen|verwenden|benutzen)",
        ),
        LESSON: (
            r"gelernt", r"stellte? sich heraus", r"herausgestellt", r"(?:ursache|grund) (?:ist|war)",
            r"(?:das problem|der fehler) (?:ist|war|liegt|lag)", r"(?:lag|liegt) daran",
        ),
        TASK: (
            r"noch (?:zu tun|offen|nicht)", r"nachste[rn]? schritte?", r"steht noch aus", r"mus(?:s|sen) noch",
            r"fehl(?:t|en) noch", r"nicht vergessen", r"erinnere mich",
        ),
        FACT: (
            r"(?:das (?:projekt|repository|repo)|der (?:server|dienst)|die (?:anwendung|api|datenbank)|unsere? \w+|wir)"
            r" (?:verwende[tn]|nutz(?:t|en)|benutz(?:t|en)|lauft (?:auf|in|mit)|liegt (?:in|auf)|basiert auf|benotigt)",
            r"ich heisse", r"ich arbeite (?:bei|fur|als)",
        ),
        CONTEXT: (
            r"(?:ich arbeite|wir arbeiten) (?:gerade |derzeit |aktuell )?an", r"ich bin (?:gerade )?dabei",
            r"wir sind (?:gerade )?dabei", r"(?:mein|unser|das) ziel ist",
        ),
    },
    "es": {
        PREFERENCE: (
            r"prefiero", r"preferimos", r"me gustan?", r"me gustaria que siempre", r"odio", r"a partir de ahora",
            r"de ahora en adelante", r"mi preferencia", r"^(?:por favor,? )?(?:siempre|nunca) \w+",
            r"(?:usa|use|escribe) siempre",
        ),
        DECISION: (
            r"decidi(?:mos|do|o)?", r"(?:hemos|he) (?:elegido|optado|acordado)", r"elegi(?:mos)?", r"escogi(?:mos)?",
            r"opt(?:amos|e) por", r"vamos a (?:usar|utilizar|mantener|adoptar)", r"acordamos",
        ),
        LESSON: (
            r"aprendi(?:mos|do)?", r"leccion", r"result(?:a|o) que", r"descubri(?:mos)? que",
            r"la causa(?: raiz)? (?:es|era|fue)", r"el (?:problema|error|fallo) (?:es|era|fue|estaba)",
        ),
        TASK: (
            r"pendientes?", r"proximos? pasos?", r"siguientes? pasos?", r"faltan? (?:por )?\w+r", r"quedan? por",
            r"(?:todavia|aun) (?:falta|faltan|no|hay que)", r"por hacer", r"no olvid\w+", r"recuerdame",
        ),
        FACT: (
            r"(?:el (?:proyecto|servidor|servicio|repositorio|equipo)|la (?:aplicacion|api|base de datos)"
            r"|nuestr[oa] \w+) (?:usa|utiliza|corre en|esta en|depende de|se ejecuta en|requiere)",
            r"usamos", r"utilizamos", r"me llamo", r"mi nombre es", r"trabajo (?:para|como)",
        ),
        CONTEXT: (r"esta(?:mos|y) \w+ndo", r"estoy \w+ndo", r"(?:el|mi|nuestro) (?:objetivo|plazo) es"),
    },
    "fr": {
        PREFERENCE: (
            r"je prefere", r"nous preferons", r"j'aime(?: bien| mieux)?", r"j'aimerais que", r"je n'aime pas",
            r"je deteste", r"desormais", r"dorenavant", r"a partir de maintenant", r"ma preference",
            r"(?:utilisez?|ecris|ecrivez|fais|mets) toujours", r"n'utilisez? jamais", r"^(?:toujours|jamais) \w+",
        ),
        DECISION: (
            r"(?:nous avons|on a|j'ai|a ete) (?:decide|choisi|opte|retenu|convenu)", r"decide (?:de|que)",
            r"(?:on va|nous allons) (?:utiliser|garder|adopter|partir sur)", r"nous (?:gardons|adoptons)",
        ),
        LESSON: (
            r"(?:j'ai|nous avons|on a) (?:appris|decouvert|compris)", r"il s'avere que", r"il s'est avere", r"lecon",
            r"la cause(?: racine| profonde)? (?:est|etait)",
            r"le (?:probleme|bug|bogue|souci) (?:est|etait|vient|venait)",
            r"l'erreur (?:est|etait|vient|venait)",
        ),
        TASK: (
            r"restent? a", r"il reste", r"a faire", r"prochaines? etapes?", r"pas encore", r"n'oubliez? pas",
            r"rappelle-moi",
        ),
        FACT: (
            r"(?:le (?:projet|serveur|service|depot)|l'(?:application|api|equipe)|la base de donnees|notre \w+)"
            r" (?:utilise|tourne sur|depend de|se trouve|est (?:ecrit|deploye|heberge)e?|exige|necessite)",
            r"nous utilisons", r"on utilise", r"je m'appelle", r"je travaille (?:chez|pour|comme)",
        ),
        CONTEXT: (
            r"(?:je travaille|nous travaillons) (?:actuellement |en ce moment )?sur",
            r"(?:je suis|nous sommes|on est) en train de", r"(?:mon|notre|le) but est",
            r"(?:(?:mon|notre) |l')objectif est",
        ),
    },
    "ja": {
        PREFERENCE: (
            r"(?:が|のほうが|方が)好き", r"が嫌い", r"は嫌い", r"今後は", r"これからは",
            r"(?:必ず|常に|いつも|絶対に)[^。]{0,40}(?:ください|使って|しないで)", r"より[^。]{1,20}が(?:いい|良い)",
        ),
        DECISION: (
            r"に決め(?:た|ました)", r"ことに(?:した|しました|します|決め)", r"を採用", r"を選(?:んだ|びました|択し)",
            r"で(?:いき|行き)ましょう", r"を使いましょう",
        ),
        LESSON: (
            r"(?:わか|分か)(?:った|りました)", r"が判明", r"原因は", r"教訓", r"学(?:んだ|びました)", r"問題は",
        ),
        TASK: (
            r"残って(?:いる|います)", r"未(?:完了|対応|実装|着手)", r"次の(?:ステップ|作業)", r"忘れない(?:で|よう)",
            r"まだ[^。]{0,30}(?:ない|ません)", r"やること", r"残タスク",
        ),
        FACT: (
            r"を使(?:って|用して)(?:いる|います)", r"で(?:動いて|動作して)(?:いる|います)",
            r"に(?:依存して|デプロイされて)",
            r"で書かれて", r"私の名前は", r"で働いて(?:いる|います)",
        ),
        CONTEXT: (
            r"に取り組んで", r"を(?:開発|作成|移行|構築|分析|実装)(?:中|して(?:いる|います))",
            r"(?:目標|目的|締め切り|期限)は",
        ),
    },
    "zh": {
        PREFERENCE: (
            r"我(?:更|比较)?(?:喜欢|喜歡|偏好|倾向于|习惯)", r"我(?:不喜欢|讨厌)", r"(?:始终|总是|一律)(?:使用|用)",
            r"(?:请|永远)不要", r"以后(?:都|请)", r"从现在(?:起|开始)",
        ),
        DECISION: (
            r"(?:决定|決定)(?:了|使用|采用|用|不|保留|把|改)", r"(?:选择|選擇)了",
            r"(?:我们|我們)(?:将|会|就)?(?:采用|改用)",
            r"我们(?:将|会|就)使用", r"敲定", r"商定",
        ),
        LESSON: (
            r"原因(?:是|在于)", r"问题(?:是|在于|出在)", r"教训", r"学到了?", r"(?:我们|我|结果)发现",
            r"事实证明", r"原来是",
        ),
        TASK: (
            r"待办", r"待辦", r"下一步", r"还(?:需要|没|要|剩)", r"尚未", r"未完成", r"别忘了", r"不要忘记", r"剩下的",
        ),
        FACT: (
            r"(?:项目|服务|系统|后端|前端|数据库|应用|我们|团队|仓库|服务器)(?:目前)?"
            r"(?:使用|用的是|运行在|部署在|依赖|存放在|基于|位于)",
            r"我叫", r"我的名字是", r"我在[^。]{1,20}(?:工作|上班)",
        ),
        CONTEXT: (r"我们?(?:正在|目前在)", r"(?:目标|目的|截止日期)是"),
    },
}  # fmt: skip

# A sentence that opens with one of these and a colon names its kind itself.
LABELS: dict[str, tuple[str, ...]] = {
    PREFERENCE: ("preference", "preferencia", "praferenz", "vorliebe"),
    DECISION: ("decision", "decided", "decisao", "entscheidung", "決定", "决定"),
    LESSON: (
        "lesson", "lesson learned", "gotcha", "licao", "leccion", "lektion", "erkenntnis", "lecon", "教訓", "教训",
    ),
    TASK: ("todo", "to do", "to-do", "fixme", "tarefa", "aufgabe", "tarea", "tache", "a faire", "タスク", "待办"),
    FACT: ("fact", "fato", "facto", "fakt", "hecho", "fait", "事実", "事实"),
    CONTEXT: ("context", "contexto", "kontext", "contexte", "背景"),
}  # fmt: skip

# Marks of a mere thought: the sentence states no fact.
HYPOTHETICAL: dict[str, tuple[str, ...]] = {
    "en": (
        r"^(?:and |but |so |or |well, |even )*(?:if|suppose|supposing|imagine|assuming|what if|unless|whether)",
        r"if (?:we|i|you|they|it) (?:used|were|had|chose|decided|went|would)", r"would have", r"should we",
        r"shall we", r"we could", r"maybe", r"perhaps", r"might", r"hypothetically",
    ),
    "pt": (r"^(?:e |mas )?(?:se|caso|suponha\w*|imagine)", r"talvez", r"se (?:a gente|nos|eu) \w+(?:sse|ssemos)"),
    "de": (r"^(?:und |aber )?(?:wenn|falls|angenommen)", r"wurden? wir", r"vielleicht", r"konnten wir", r"eventuell"),
    "es": (r"^(?:y |pero )?(?:si|supongamos|imagina)", r"quizas?", r"tal vez", r"si (?:usaramos|fuera|hubieramos)"),
    "fr": (r"^(?:et |mais )?(?:si|s'il|supposons|imaginons)(?! (?:te|vous) plait)", r"peut-etre", r"on pourrait"),
    "ja": (r"もし", r"仮に", r"かもしれ", r"としたら", r"たぶん"),
    "zh": (r"如果", r"假如", r"假设", r"要是", r"也许", r"可能会?", r"或许"),
}  # fmt: skip

# Marks of an agent that thinks aloud.
HEDGING: dict[str, tuple[str, ...]] = {
    "en": (
        r"i (?:think|believe|guess|suspect|wonder|assume|should|could|need to|have to|want to)",
        r"let me", r"hmm+", r"i'(?:ll|m going to) (?!use)\w+", r"i'd", r"probably", r"it (?:seems|looks)",
        r"seems like", r"looks like", r"let'?s (?:see|check|look|try|first|start|think)", r"wait", r"we should",
    ),
    "pt": (r"(?:eu )?acho que", r"(?:eu )?creio que", r"deixe-me", r"deixa eu", r"parece que", r"provavelmente"),
    "de": (r"ich (?:denke|glaube|vermute)", r"lass mich", r"wahrscheinlich", r"vermutlich", r"es scheint"),
    "es": (r"creo que", r"pienso que", r"dejame", r"dejeme", r"parece que", r"probablemente"),
    "fr": (r"je (?:pense|crois|suppose)", r"laisse-moi", r"laissez-moi", r"il semble", r"probablement"),
    "ja": (r"と思います", r"と思う", r"でしょう", r"みましょう", r"ようです"),
    "zh": (r"我(?:认为|觉得|想)", r"让我", r"看起来", r"大概", r"应该是"),
}  # fmt: skip

# A question, in any of the languages.
QUESTION = r"(?:\?\W*|[吗嗎呢][。.]?|か(?:な|ね)?[。.]?)$|¿|ですか|ますか|要不要|是不是"
