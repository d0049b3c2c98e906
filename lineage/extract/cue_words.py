"""Words without which there is no cue: a text that has none of them needs no pattern at all, and most have none.

Every match of a cue holds one of the words of its language and kind, as a whole word. Of each phrase it is the word
that is rarest in what people write. Languages without spaces between words are told by their script.
"""

from collections import defaultdict

from lineage.extract.cues import CONTEXT, CUES, DECISION, DENSE, FACT, LABELS, LESSON, PREFERENCE, TASK
from lineage.extract.folding import is_dense, words_of

Cue = tuple[str, str]
"""A kind and a language; of labels it is `LABEL`."""

LABEL: Cue = ("", "")

_WORDS: dict[str, dict[str, str]] = {
    "en": {
        PREFERENCE: "always dislike ever favorite favourite hate like never now prefer preference preferred rather",
        DECISION: "adopt agreed chose decided go keep picked settled stick switch use went",
        LESSON: (
            "bug cause caused culprit discovered fix found gotcha issue learned learnt problem realised realized "
            "trick turned turns"
        ),
        TASK: "do fixme follow followup forget remaining remind step steps still todo yet",
        FACT: (
            "depend depends deployed hosted live lives located name require requires run runs stored target targets "
            "use uses work written"
        ),
        CONTEXT: (
            "aim analysing analyzing building deadline developing goal migrating porting preparing refactoring "
            "session task trying working writing"
        ),
    },
    "pt": {
        PREFERENCE: "diante gosto nunca preferencia preferimos prefira prefiro sempre",
        DECISION: (
            "adotamos adotei decidi decidida decidido decidimos decidiu escolhemos escolhi escolhida escolhido "
            "optamos optei vamos"
        ),
        LESSON: "acontece aprendemos aprendi causa descobri descobrimos erro licao problema",
        TASK: "ainda falta faltam fazer lembre nao pendente pendentes proximo proximos",
        FACT: "depende escrita escrito esta exige fica nome roda trabalho usa usamos utiliza utilizamos",
        CONTEXT: "estamos estaou estou objetivo prazo",
    },
    "de": {
        PREFERENCE: "bevorzuge gern gerne hasse immer jetzt lieber liebsten mag nie niemals sofort ziehe",
        DECISION: "benutzen beschlossen bleiben entscheiden entschieden geeinigt nehmen setzen verwenden wechseln",
        LESSON: "daran fehler gelernt grund herausgestellt problem sich ursache",
        TASK: "mich noch schritt schritte vergessen",
        FACT: "arbeite basiert benotigt benutzen benutzt heisse lauft liegt nutzen nutzt verwenden verwendet",
        CONTEXT: "arbeite arbeiten dabei ziel",
    },
    "es": {
        PREFERENCE: "ahora gusta gustan nunca odio preferencia preferimos prefiero siempre",
        DECISION: (
            "acordado acordamos decidi decidido decidimos decidio elegi elegido elegimos escogi escogimos optado "
            "optamos opte vamos"
        ),
        LESSON: "aprendi aprendido aprendimos causa descubri descubrimos el leccion resulta resulto",
        TASK: "aun falta faltan hacer no paso pasos pendiente pendientes queda quedan recuerdame todavia",
        FACT: "corre depende ejecuta esta llamo nombre requiere trabajo usa usamos utiliza utilizamos",
        CONTEXT: "estamos estay estoy objetivo plazo",
    },
    "fr": {
        PREFERENCE: "aime aimerais desormais deteste dorenavant jamais partir prefere preference preferons toujours",
        DECISION: "adopter adoptons choisi convenu decide garder gardons opte partir retenu utiliser",
        LESSON: "appris avere compris decouvert est etait lecon venait vient",
        TASK: "encore faire oublie oubliez prochaine prochaines rappelle reste resten restent",
        FACT: "appelle depend est exige necessite tourne travaille trouve utilise utilisons",
        CONTEXT: "est sommes suis travaille travaillons",
    },
}  # fmt: skip


def _cues_of() -> dict[str, set[Cue]]:
    found = defaultdict[str, set[Cue]](set)
    for language, kinds in _WORDS.items():
        for kind, words in kinds.items():
            for word in words.split():
                found[word].add((kind, language))
    for labels in LABELS.values():
        for label in filter(str.isascii, labels):  # the others are in scripts without spaces
            found[words_of(label)[-1]].add(LABEL)
    return dict(found)


_CUES_OF = _cues_of()
_WORDS_OF_CUES = frozenset(_CUES_OF)
_SPACELESS = {(kind, language) for language in DENSE for kind in CUES[language]} | {LABEL}


def words_of_cues(folded: str) -> frozenset[str]:
    """The words of a folded text that cues have: of no part of it there are others. What is dense has the empty word,
    which is in each of its parts.

    >>> words_of_cues("we chose the parser"), words_of_cues("the parser reads it")
    (frozenset({'chose'}), frozenset())
    """
    words = _WORDS_OF_CUES.intersection(words_of(folded))
    return words | {""} if is_dense(folded) else words


def cues_in(folded: str) -> set[Cue]:
    """The kinds of cues that may stand in a folded text.

    >>> cues_in("we chose the parser"), cues_in("the parser reads it")
    ({('decision', 'en')}, set())
    """
    found = {cue for word in _WORDS_OF_CUES.intersection(words_of(folded)) for cue in _CUES_OF[word]}
    return found | _SPACELESS if is_dense(folded) else found
