"""Takes the message of a refusal apart: CODE name: text; hint: what to do {detail}."""
import json
import re
from collections import namedtuple

Refusal = namedtuple("Refusal", "code name text hint detail")


def split_refusal(message):
    """The parts of a refusal, or None where the message is another error's."""
    # Neither the text nor the hint ever holds a brace: the detail begins at the first.
    sentence, brace, detail = message.partition("{")
    found = re.fullmatch(r"(ZF\d{3}) (\w+): (.*); hint: (.*) ", sentence)
    return Refusal(*found.groups(), json.loads(brace + detail)) if found and brace else None
