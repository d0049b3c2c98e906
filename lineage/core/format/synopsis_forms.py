"""How a sentence looks that asks for something, or says what came of it: patterns of its words, in many languages.

What each weighs is in `synopsis.json`.
"""

import re

NO_REQUEST = re.compile(
    r"Caveat: The messages below|This session is being continued|\[Request interrupted|Operation stopped by|"
    # a command alone, and what sets up a harness, whatever it is given
    r"[/!][\w-]+$|/(?:add-dir|agents|color|config|effort|export|fast|login|mcp|memory|model|output-style|permissions|plugin|"
    r"rename|resume|statusline|theme|vim)\b[^\n]*$"
)
INIT = re.compile(  # the prompts of `/init` in Codex and Claude Code
    r"\W*(?:Generate a file named AGENTS\.md that serves as a contributor guide|"
    r"Please analyze this codebase and create a CLAUDE)"
)
PATH_ALONE = re.compile(r"(?=\S*(?:/\S*/|/\S*\.\w))[`@]?[\w.~:@/-]+`?")
CHATTER = frozenset((
    "a", "about", "again", "ahead", "agent", "and", "are", "at", "bye", "can", "claude", "codex", "continue", "could",
    "danke", "day", "do", "done", "exactly", "exit", "fine", "for", "gemini", "go", "good", "got", "great", "hello",
    "help", "hey", "hi", "how", "i", "it", "ja", "just", "k", "keep", "know", "let", "lgtm", "look", "me", "merci",
    "morning", "nein", "next", "nice", "no", "nope", "now", "of", "oh", "ok", "okay", "on", "oui", "perfect",
    "ping", "please", "proceed", "quit", "ready", "resume", "retry", "right", "s", "see", "si", "so", "sounds",
    "start", "stop", "sure", "take", "talk", "thank", "thanks", "that", "the", "then", "there", "this", "to", "try",
    "wait", "weiter", "well", "what", "whoami", "who", "with", "work", "would", "y", "yeah", "yep", "yes", "you",
))  # fmt: skip
REQUEST = re.compile(
    r"\b(?:can|could|would|will) (?:you|we)\b|\b(?:i|we)(?:'d| would)? (?:want|need|like|should|think|expect\w*)\b|"
    r"\b(?:i'm|i am|we're|we are) (?:trying|looking|going|replacing)\b|\blet'?s\b|\b(?:please|should|must)\b|"
    r"\b(?:kannst|könntest|bitte|wir sollten|ich (?:will|möchte|brauche)|peux-tu|pouvez-vous|il faut|je (?:veux|"
    r"voudrais)|puedes|podrías|quiero|necesito|por favor|pode|quero|preciso|puoi|vorrei|voglio|нужно|надо|пожалуйста)"
    r"\b|请|帮我|我想|需要|(?:し|見|書い|直し|教え|変え)て(?:ください|下さい|ほしい|欲しい)|したい|をお願い|"
    r"(?:追加|修正|変更|作成|実装|削除|改善|移行|更新|表示)(?:する(?:こと|よう.*)?|して|をする)?[。！]?$|"
    r"해 ?(?:줘|주세요|줄래|주라|봐)|하자|(?:고쳐|만들어|바꿔|추가해|수정해|확인해|알려)|싶(?:어|다|습니다)",
    re.IGNORECASE,
)
IMPERATIVE = re.compile(
    r"(?:please |now |ok(?:ay)?,? |so,? |also,? |and |then )*(?:add|address|adjust|allow|analy[sz]e|apply|audit|"
    r"brainstorm|build|bump|change|check|clean|compare|configure|consider|consolidate|convert|create|debug|delete|"
    r"deploy|describe|design|disable|do(?! (?:i|they|we|you)\b)|document|draft|drop|enable|ensure|explain|export|"
    r"extend|extract|figure|find|fix|generate|give|handle|help|hide|implement|improve|include|install|integrate|"
    r"investigate|keep|list|look|make|merge|migrate|mock|modify|move|optimi[sz]e|plan|port|prepare|print|propose|put|"
    r"read|rebase|redesign|refactor|release|remove|rename|reorgani[sz]e|replace|research|resolve|restructure|review|"
    r"rework|rewrite|run|separate|set|show|simplify|split|suggest|summari[sz]e|switch|test|track|translate|try|turn|"
    r"tweak|unify|update|upgrade|use|validate|verify|wire|work|write|"
    r"füge|erstelle|ändere|schreibe?|mache?|prüfe?|baue|lösche|entferne|behebe|aktualisiere|lies|"
    r"ajoute[rz]?|crée[rz]?|corrige[rz]?|modifie[rz]?|supprime[rz]?|fai(?:s|tes)|écri(?:s|vez)|met(?:s|tez)|vérifie[rz]?|"
    r"añad[ae]|agreg(?:a|ue)|cre[ae]|modifi(?:ca|que)|elimin[ae]|haz|haga|escrib[ae]|actuali[cz][ae]|revis[ae]|lee|"
    r"adicion[ae]|cri[ae]|corrij?[ae]|remov[ae]|faça|faz|atuali[zs][ae]|escrev[ae]|verifi(?:ca|que)|leia|"
    r"aggiungi|correggi|modifica|rimuovi|fai|scrivi|aggiorna|leggi|"
    r"(?:добав|исправ|провер)ь(?:те)?|(?:сдел|созд|прочит)ай(?:те)?|(?:найд|напиш|обнов|удал|перенес|покаж|перевед)и(?:те)?)\b",
    re.IGNORECASE,
)
PROBLEM = re.compile(
    r"\b(?:bug|error|fail\w*|broken|crash\w*|issue|problem\w*|wrong|missing|(?:is|does|do)n'?t|not|can'?t|cannot|"
    r"no longer|never|instead|fehler\w*|erreur|falla|erro|errore|ошибк\w*)\b|错误|问题|エラー",
    re.IGNORECASE,
)
_RESULT_WORD = (
    r"(?:fixed|done|added|changed|replaced|removed|updated|created|implemented|renamed|moved|consolidated|merged|resolved|"
    r"committed|pushed|refactored|extracted|addressed|made|set|completed?|configured|wrote|converted|unified|dropped|"
    r"verif\w+|found|built|simplified|improved|split|switched|works?|working|deployed|installed|enabled|disabled|reverted|"
    r"kept|linked|cleaned|integrated|migrated|supports?|handles?|returns?|uses?|fixes|adds|passe[ds]|behoben|erledigt|"
    r"hinzugefügt|geändert|umgesetzt|corrigé|ajouté|modifié|terminé|implementado|implementada|corregido|agregado|añadido|"
    r"corrigido|adicionado|concluído|risolto|aggiunto|corretto|исправлен\w*|добавил\w*|готово)\b|"
    r"已|完成|修复|修正|追加|実装"
)
_DONE = (  # in other languages, where it says so behind its subject, or at its end
    r"\bwurden?\b.*(?:t|en)\b|\b(?:a|ont) été \w+[ée]e?s?\b|\b(?:ha|han) sido \w+[dt][oa]s?\b|"
    r"\b(?:foi|foram) \w+[dt][oa]s?\b|\b(?:è stat[oa]|sono stat[ie]) \w+[oaie]\b|"
    r"\b(?:(?:созда|обновл[её]|добавл[её]|исправл[её]|удал[её]|сдела|перенес[её]|установл[её])н[аоы]?)\b|"
    r"(?:(?:し|でき|なり|され)ました|済みです|[했됐]습니다|되었습니다|[했됐]어요)[.!。！]?$"
)
RESULT = re.compile(rf"\b(?:{_RESULT_WORD})|{_DONE}", re.IGNORECASE)
BEGINS_WITH_RESULT = re.compile(
    rf"\W*(?:(?:i|we)(?:['’]ve| have)?(?: now| also| just| successfully)* )?\b(?:{_RESULT_WORD}|"
    r"(?!need|indeed|based|used|supposed)[a-z]{3,}ed\b|he \w+[aei]do\b|ho \w+to\b|j['’]ai \w+(?:é|i|it|is)\b|"
    r"(?:ich )?habe\b|fatto|hecho|feito|fait\b|rimoss[oa]|reescrit[oa]|"
    r"(?:aggiorna|atualiza|actualiza|crea|cria|elimina)[dt][oa]\b)|"
    r"\W*已",
    re.IGNORECASE,
)
FUTURE = re.compile(
    r"\b(?:can you|could|going to|if you|let me|let['’]s|i['’]ll|need to|once|shall|should|tell me|to be|want|will|"
    r"would|you can)\b|[?:]$|\b(?:not|isn't|wasn't|never) (?:yet )?(?:done|fixed|finished|ready|work)",
    re.IGNORECASE,
)
NO_OUTCOME = re.compile(
    r"\W*(?:(?:alright|excellent|good|great|ok|okay|perfect|right)\b[,.!]* )?(?:i will|i think|fetch|for an?|now to|"
    r"now (?:i|add|check|open|run|test|try|update|visit|(?:create|tell|write) (?:the|an?))|next|first|glad|"
    r"got it|good progress|i need|i can see|i see|i notice|i realize|i remember|it seems|it looks|"
    r"my apolog(?:y|ies)|i apologi[sz]e|sorry|looking|now let|i should|the user|let['’]?s|tool use|"
    r"recommend(?:ed|ation)|suggested|given (?:that|the|your)|there(?:['’]s| is| are) (?:still )?no(?! longer| more)|"
    r"note(?:\s*[:,]| (?:that|your|the|this|all)\b)|still waiting|i(?:['’]ve| have)? read|"
    r"j['’]ai (?:lu|trouvé une? (?:document|fichier))|read (?:the|this|all)|"
    r"(?:clarification )?question \d|delegating|dispatching|launching|spawning|starting|waiting|"
    r"run (?:this|these|the)|(?:we|you) (?:can|could|may|might|need|should)|try|either|if|based on|to \w+|why|what|how|"
    r"i(?:['’]m| am) (?:\w+ing|in (?:read|plan))|i (?:now )?have (?:an?|the|all|enough|what|everything)|i understand|"
    r"you(?:['’]re| are) right|here(?:['’]s| is| are)|login expired|(?:api )?error\W)\b|"
    r"\W*(?:se (?:vuoi|quiser|você)|si (?:quieres|tu veux|vous)|(?:wenn|falls) du|если (?:хотите|нужно)|vuoi|quieres|"
    r"möchtest|puoi|puedes|хотите)\b|"
    r"\W*(?:exporter|générer|créer|afficher|ajouter|associer|modifier|passer) (?:cet?|cette|chaque|l[ae]s?|une?)\b|"
    r".*(?:\b(?:let me|i['’]ll|shall i|would you|do you|tell me|going to)\b|\?$|"
    r"(?:を読みました|ください|下さい|ましょうか?|(?:ます|です|でしょう|ません)か|세요|까요)[。.!！]?$)|"
    r"[^“\"«‘]*\?[\"'”’»)]+$|"
    r"\W*(?:让我|我来|我将|现在(?:我|让|来|开始|需要|(?:更新|添加|修改|修复|检查|创建|运行|测试)(?!了))|"
    r"接下来(?!的)|请(?:在|你|您|先|运行|检查|确认|重启|执行|打开))",
    re.IGNORECASE,
)
TAKES_BACK = re.compile(  # the sentence before it, if it stands for itself: "scratch that table" takes nothing back
    r"\W*(?:no,? wait|wait,? no|hmm,? (?:no|wait)|actually,? no|scratch that|strike that|nein,? warte|ach,? nein|"
    r"non,? attends|no,? espera|não,? espera|いや、?待って|等等[，,]?不对?)\s*(?:[,.;:!。，、！…—–-]|$)",
    re.IGNORECASE,
)
CHECKED = re.compile(  # what ran well, and not what was done
    r"\W*(?:(?:all|both|the|unit|integration|e2e|existing|new|full|frontend|backend|[\d,]+) )*(?:tests?|checks?|"
    r"hooks?|suites?|lint\w*|type ?-?checks?|builds?|compil\w+|ci)\b.{0,80}\b(?:pass(?:es|ed|ing)?|clean(?:ly)?|green|"
    r"succe\w+|no (?:\w+ )?errors)\b.{0,40}$",
    re.IGNORECASE,
)
CAUSE = re.compile(
    r"\b(?:root cause|because|caused by|the (?:issue|problem|bug|fix) (?:is|was)|instead of|so that|previously|"
    r"no longer|now)\b",
    re.IGNORECASE,
)
BACKWARD = re.compile(r"\b(?:it|its|that|them|there|these|this|those|why)\b", re.IGNORECASE)  # what stands before
PASSIVE = re.compile(rf"\b(?:is|are|was|were|been) (?:now )?\w+(?:ed|en|nt|lt|ut)\b|{_DONE}", re.IGNORECASE)
