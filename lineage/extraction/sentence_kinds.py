"""What a sentence is: a statement or none, a rule, a question, an errand, and the kind of entry that it makes.

A function of one sentence's features. (design: What is learned)
"""

import re
from collections.abc import Mapping, Set

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import is_unspaced, measure_width, tokenize_folded
from lineage.core.format.turns import USER
from lineage.extraction.features import (
    ANSWER,
    ASKED,
    AT_HAND,
    CHECKED,
    CHECKER,
    CUSTOM,
    DOUBTED,
    EVER,
    HABIT,
    HERE,
    LASTING,
    LEFT,
    LIFTED,
    OFF_SUBJECT,
    PASSING,
    REMINDER,
    REVIEW_FINDING,
    TAKEN_BACK,
    Utterance,
)

PREFERENCE = "preference"
DECISION = "decision"
FACT = "fact"
LESSON = "lesson"
TASK = "task"
CONTEXT = "context"
KINDS = (PREFERENCE, DECISION, LESSON, TASK, FACT, CONTEXT)

MIN_STATEMENT_WIDTH = 14  # In Latin characters. A character of a script without spaces counts two.
_LINK = re.compile(r"\bhttps?://\S+")
_MIN_WORDS_BESIDE_LINK = 4
# What shall be kept of one conversation, and what a plug-in's command is given.
_COMMAND = re.compile(r"\s*/(?:compact\b|[a-z][\w-]*:[\w:-]+(?!\S))")
_IS_LEFT = re.compile(r"\W*(?:todo|to do|fixme|still|remaining|left)\b")  # the label of what nobody has done yet
_NOTHING = re.compile(r"[:：]\W*(?:(?:nothing|none|n/a|nada|rien|nichts|keine?|0|なし|无|we verified)\b.*)?$")
_MERE_CAUSE = re.compile(  # that there is one, not which: "the root cause is confirmed", "原因は認証です"
    r"\W*(?:結論\W*)?(?:(?:the |a )?(?:root )?cause (?:is|was|has been|is now) (?:now )?"
    r"(?:clear|confirmed|found|identified|known)|"
    r"(?:i(?: ve)? )?(?:found|identified|confirmed) the (?:root )?cause|"
    r"(?:根本)?原因は(?:.{0,4}です|.{0,5}(?:確定|特定|判明|明確|明らか|分か|わか).{0,9})|"
    r"(?:根本)?原因(?:已|已经|现在)*(?:确定|找到|明确|查明|定位)(?:了|到了)?)\W*$"
)
_CAUSE = re.compile(r"\b(?:cause|causa|ursache)\b|原因[は是在]")
# "Use sub-agents to fix all of them" is for the moment.
_PURPOSE = re.compile(
    r"\W*(?:(?:also|and|now|please) )*use [^,.;:]*\bto (?:access|debug|fix|look|see|troubleshoot|try)\b"
)
_NORMS = frozenset({"wish", "must", "rule"})
_ORDERS = frozenset({"wish", "must", "^rule", "standing"})
_REASONS = frozenset({"negation", "instead", "cause", "standing"})
_ASKING = _NORMS | {"^verb", "^request"}
_POLITE_RULE = frozenset({"^request", "addressee", "standing"})  # "could you never …?"
_AGENT_DOUBTS = frozenset({"a question", "guess"})
_DOUBTS = frozenset({"a question", "guess", "announcement", "^supposition"})
_REASONED = frozenset({"explicit", "an open box", "decision", "instead", "judgement", "cause"})
_SHORT = frozenset({"under 5 words", "5 to 8 words"})
_REPORTED = frozenset({"past", "a question", "^look", "^moment", "trouble"})
_OF_THE_MOMENT = _REPORTED | {"status", "errand"}
_ASKING_NOW = frozenset({"^verb", "^request"})
_CONTRASTS = frozenset({"negation", "instead", "we"})
_HOWS = _CONTRASTS | {"must", "standing", "rule", "norm", "state"}
_PARTICULAR = _OF_THE_MOMENT | {"code", "one code", "guess", "under 5 words"}
_POINTING = frozenset({"it", "that", "this", "they", "these", "those", "he", "she"})
_BUT = re.compile(r"[,;] ?(?:but|however|yet|aber|jedoch|pero|mas|mais)\b|但是?|けど|けれど|のに")
_BUSINESS = frozenset({"process", "operation", "tests"})  # of a session: its plan, its pull request, its tests


def is_explicit(one: Utterance) -> bool:
    """Return whether a sentence says what it is: by a label, a box, "we decided", or a person's "(can you) never …".

    What a person pasted says it of something else.
    """
    if _is_polite_rule(one):
        return True
    # A box in an agent's plan is none of its tasks: those that are open stand in what it says at the end.
    has_box = "an open box" in one.seen and (one.role == USER or "at the end" in one.marks)
    if one.role == USER:
        is_decided = one.seen.keys() >= {"explicit", "decision"}  # "we decided to keep it for now" holds
        says_what = is_decided or (PASSING not in one.marks and ("explicit" in one.seen or _is_rule(one)))
        says_so = (bool(one.label) or has_box or says_what) and "like a paste" not in one.seen
    else:
        says_so = (_is_told(one) or has_box) and one.label != PREFERENCE
    return says_so and _DOUBTS.isdisjoint(one.seen)


def _is_rule(one: Utterance) -> bool:
    """Return whether a person says what holds beyond the moment: always, in this project, or in general."""
    is_lasting = LASTING in one.marks or _is_reminder(one)
    is_lasting = is_lasting and _REPORTED.isdisjoint(one.seen)  # "… without asking me"
    return _holds_always(one) or is_lasting or _is_of_here(one) or _is_habit(one) or _is_lifted(one)


def _is_lifted(one: Utterance) -> bool:
    """Return whether a sentence says of something that it names that it need no longer be so."""
    is_named = "four content words" in one.seen or is_unspaced(one.sentence.folded)
    is_complaint = not _REPORTED.isdisjoint(one.seen) or _BUT.search(one.sentence.folded) is not None
    return LIFTED in one.marks and is_named and not is_complaint


def _is_reminder(one: Utterance) -> bool:
    """Return whether a person asks to keep in mind how it shall be, or what "we" do, and not what is so for now."""
    is_ours = "self" not in one.seen and not (_REASONS | {"we"}).isdisjoint(one.seen)
    return REMINDER in one.marks and PASSING not in one.marks and (is_ours or not _NORMS.isdisjoint(one.seen))


def _is_of_here(one: Utterance) -> bool:
    """Return whether a sentence says how it is in this project, and asks for nothing at once."""
    asks = not _ASKING_NOW.isdisjoint(one.seen) or ("verb" in one.seen and _CONTRASTS.isdisjoint(one.seen))
    return HERE in one.marks and not asks and _OF_THE_MOMENT.isdisjoint(one.seen) and not _HOWS.isdisjoint(one.seen)


def _holds_always(one: Utterance) -> bool:
    """Return whether a sentence says so: "never …", "use … always", "it should not … ever"."""
    seen = one.seen.keys()
    is_standing = "standing" in seen or (EVER in one.marks and "negation" in seen)
    is_wanted = "^verb" in seen or ("must" in seen and "past" not in seen)
    return "^standing" in seen or (is_standing and is_wanted)


def _is_habit(one: Utterance) -> bool:
    """Return whether a sentence says how things are done, and names nothing at hand: "keep functions short"."""
    seen = one.seen.keys()
    is_norm = seen >= {"must", "impersonal"} and _has_subject(one)
    is_custom = (is_norm or CUSTOM in one.marks) and "a name" not in seen
    is_for_now = _PURPOSE.match(one.sentence.folded) is not None and _CONTRASTS.isdisjoint(seen)
    is_general = AT_HAND not in one.marks and _PARTICULAR.isdisjoint(seen) and not is_for_now
    return is_general and (is_custom or HABIT in one.marks)


def _has_subject(one: Utterance) -> bool:
    """Return whether a sentence names what must be so, and not as in "no, it should support that"."""
    if is_unspaced(one.sentence.folded):
        return "four content words" in one.seen
    before = tokenize_folded(one.sentence.folded.partition(one.seen["must"].partition(" ")[0])[0])
    return bool(before) and before[-1] not in _POINTING


def _is_told(one: Utterance) -> bool:
    """Return whether an agent says what a sentence is: by a label that isn't one of many in a form, or by "we decided".

    "Next step: restart your server" is advice for the moment, and "from now on" tells what has just changed.
    """
    text = one.sentence.folded
    if one.label == TASK and _NOTHING.search(text):
        return False
    is_errand = "errand" in one.seen and not _IS_LEFT.match(text)
    # What was next in the middle of a session is likely done by its end, but not what "still needs" something.
    is_passed = one.marks.isdisjoint({"at the end", LEFT})
    is_none = one.label == TASK and (is_errand or is_passed or "addressee" in one.seen)
    has_label = bool(one.label) and not is_none and "one of many labels" not in one.marks
    phrase = one.seen.get("explicit", "")
    is_said = phrase != "" and ("standing" not in one.seen or one.seen["standing"] not in phrase)
    # "The root cause is in `store.ts`" says too little to hold for its words alone.
    is_cause = _CAUSE.search(phrase if phrase.isascii() else text) is not None and "decision" not in one.seen
    is_bare = is_cause and not _SHORT.isdisjoint(one.seen)
    return has_label or (is_said and not is_bare)


def is_statement(one: Utterance) -> bool:
    """Return whether a sentence states something: no lead into a list, no supposition, no agent's question or guess.

    A person's report, story, guess or errand that asks for nothing lasting states nothing either, nor does what a
    person only wants to know, that a check went well, or what the next sentence takes back.
    """
    says_so = "explicit" in one.seen
    if one.role == USER:
        is_open = _is_polite_rule(one) or not (says_so and {"a question", "guess"} & one.seen.keys())
        is_passing = "^look" in one.seen or _is_remark(one) or _is_inquiry(one)
        is_open = is_open and (is_explicit(one) or not is_passing)
    else:
        is_open = _AGENT_DOUBTS.isdisjoint(one.seen) and not (says_so and "wish" in one.seen)
        is_open = is_open and (bool(one.label) or not (_is_aside(one) or _is_mere_change(one)))
        is_open = is_open and not _MERE_CAUSE.match(one.sentence.folded)
    text = one.sentence.text
    is_link = _LINK.search(text) is not None and len(_LINK.sub(" ", text).split()) < _MIN_WORDS_BESIDE_LINK
    is_plain = {"leads into a list", "^supposition"}.isdisjoint(one.seen) and not (is_link or _COMMAND.match(text))
    is_plain = is_plain and TAKEN_BACK not in one.marks
    return is_open and is_plain and measure_width(to_one_line(one.sentence.text)) >= MIN_STATEMENT_WIDTH


def _is_aside(one: Utterance) -> bool:
    """Return whether an agent tells of the moment, lists its changes, or says what the session is hardly about.

    What a linter complains of is such, too: it is mended in its session.
    """
    seen = one.seen.keys()
    is_entry = "a name before a dash" in seen and "state" not in seen
    is_passing = not one.marks.isdisjoint({CHECKER, OFF_SUBJECT}) and "standing" not in seen
    is_said_so = not seen.isdisjoint({"explicit", "an open box"})
    return "^moment" in seen or CHECKED in one.marks or (not is_said_so and (is_entry or is_passing))


def _is_mere_change(one: Utterance) -> bool:
    """Return whether an agent tells what it changed, and neither a reason nor a choice (design: What is learned)."""
    return _classify_report(one.seen) == DECISION and _REASONED.isdisjoint(one.seen)


def _is_remark(one: Utterance) -> bool:
    """Return whether a person tells of the moment, and not how it shall be."""
    seen = one.seen
    # "It seems that it only counts up" has no rule: `only` and the like are one at the beginning.
    norms = _NORMS if "a question" in seen else _ORDERS
    tells, guesses = "telling" in seen and _ASKING.isdisjoint(seen), "guess" in seen and norms.isdisjoint(seen)
    # "We should run the linter before we commit" is no errand of the moment.
    is_errand = "errand" in seen and _REASONS.isdisjoint(seen) and CUSTOM not in one.marks
    return "^moment" in seen or is_errand or tells or guesses


def is_question(one: Utterance) -> bool:
    """Return whether a sentence is a person's question that settles nothing."""
    is_settled = one.label or ANSWER in one.seen or _is_polite_rule(one)
    return one.role == USER and ("a question" in one.seen or ASKED in one.marks) and not is_settled


def is_unsettled(one: Utterance) -> bool:
    """Return whether a sentence is a person's question or errand, or a flaw that a review found.

    Nothing of it shall hold: it is kept as what was asked.
    """
    is_flaw = one.role == USER and REVIEW_FINDING in one.marks and not one.label
    return is_question(one) or is_flaw or _is_errand(one)


def _is_errand(one: Utterance) -> bool:
    """Return whether a person wants something done, and says nothing that holds beyond it.

    What holds is a norm (a wish, a rule, "must"), a choice that isn't about the session's own business, a fact, or what
    says what it is. A guess without a wish holds nothing, nor do a few words that name nothing.
    """
    seen = one.seen.keys()
    if one.role != USER or is_explicit(one) or "task" in seen or _is_fact(seen):
        return False
    if PASSING in one.marks:
        return True
    is_doubted = DOUBTED in one.marks or ("guess" in seen and seen.isdisjoint({"wish", "standing"}))
    is_bare = not seen.isdisjoint(_SHORT) and seen.isdisjoint({"a name", "code", "wish", "standing"})
    # "There was only 15 in it" tells what happened, and rules nothing.
    norms = (_NORMS | _ORDERS) - {"rule"} if "past" in seen else _NORMS | _ORDERS
    is_norm = not seen.isdisjoint(norms)
    is_choice = not seen.isdisjoint({"decision", "instead"}) and seen.isdisjoint(_BUSINESS)
    return is_doubted or is_bare or not (is_norm or is_choice)


def _is_fact(seen: Set[str]) -> bool:
    is_stated = {"fact", "state"} <= seen and seen.isdisjoint({"wish", "must", "^verb", "^request"})
    # "From now on use our mirror" rules, and "we changed our mind: use pnpm" decides.
    return is_stated and not (seen >= {"standing", "verb"} or seen >= {"change", "decision"})


def _is_inquiry(one: Utterance) -> bool:
    """Return whether a person only wants to know something: "which shells are there?", and not "can we …?"."""
    return is_question(one) and "^question" in one.seen and {"^request", "wish"}.isdisjoint(one.seen)


def _is_polite_rule(one: Utterance) -> bool:
    is_passing = PASSING in one.marks or "like a paste" in one.seen
    return one.role == USER and one.seen.keys() >= _POLITE_RULE and not is_passing


def classify(one: Utterance) -> str:
    """Return the kind of a sentence: that of its label, else that of its form."""
    seen, is_end = one.seen, one.role == USER or not one.marks.isdisjoint({"at the end", LEFT})
    # An agent has no preferences, and what it did next was no task.
    if one.label and (one.role == USER or one.label != PREFERENCE) and (is_end or one.label != TASK):
        return one.label
    if "an open box" in seen:
        return TASK
    if is_unsettled(one):
        return CONTEXT  # "can we add …?" may be what led to a decision, and is none; a flaw is likely mended soon
    if "task" in seen and is_end and "change" not in seen and LIFTED not in one.marks:
        return TASK
    if one.role != USER:
        return _classify_report(seen)
    kind = _classify_wish(seen)
    return PREFERENCE if kind == DECISION and "explicit" not in seen and is_explicit(one) and _is_rule(one) else kind


def _classify_wish(seen: Mapping[str, str]) -> str:
    """Return the kind of what a person wrote."""
    if {"explicit", "decision"} <= seen.keys():
        return DECISION
    if seen.keys() >= _POLITE_RULE:
        return PREFERENCE
    if _is_fact(seen.keys()):
        return FACT
    if "^request" not in seen and ({"rule", "wish"} & seen.keys() or {"negation", "must"} <= seen.keys()):
        return PREFERENCE
    return LESSON if "trouble" in seen else DECISION


def _classify_report(seen: Mapping[str, str]) -> str:
    """Return the kind of what an agent wrote."""
    is_decided = "explicit" in seen and "decision" in seen
    if {"trouble", "cause", "negation"} & seen.keys() and "^change" not in seen and not is_decided:
        return LESSON
    return FACT if "state" in seen and not {"change", "decision", "instead"} & seen.keys() else DECISION
