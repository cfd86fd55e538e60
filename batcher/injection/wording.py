"""How a call fails by accident: the words of real back ends, in the run's language and format."""

from __future__ import annotations

import random
import re
from collections import Counter

from batcher.injection.corpus import Corpus
from cache.hashing import canonical
from cache.records import Trajectory

#: Causes by language; {tool}, {n}, {ms}, {code} and {ref} are filled in.
_CAUSES = {
    "en": (
        "request timed out after {n} seconds",
        "{tool} timed out, no answer within {n} s",
        "connection reset by peer",
        "connection refused by the back end",
        "could not reach the database, please try again",
        "too many open connections, try again shortly",
        "service temporarily unavailable ({code})",
        "HTTP {code} from the upstream service",
        "upstream closed the connection after {ms} ms",
        "rate limit exceeded, retry after {n} s",
        "temporary failure in name resolution",
        "internal server error (ref {ref})",
        "lock wait timeout exceeded; try restarting the transaction",
        "{tool} is not available right now, please retry",
        "unexpected end of response from the server",
        "the read replica is catching up, retry in {n} seconds",
        "TLS handshake timed out",
        "worker was restarted while handling {tool} (ref {ref})",
    ),
    "es": (
        "se agotó el tiempo de espera tras {n} segundos",
        "el servicio no está disponible en este momento ({code})",
        "la conexión fue cerrada por el servidor",
        "no se pudo conectar con la base de datos, inténtelo de nuevo",
        "error interno del servidor (ref. {ref})",
        "demasiadas solicitudes, reintente en {n} s",
    ),
    "fr": (
        "délai d'attente dépassé après {n} secondes",
        "service momentanément indisponible ({code})",
        "la connexion a été fermée par le serveur",
        "impossible de joindre la base de données, veuillez réessayer",
        "erreur interne du serveur (réf. {ref})",
        "trop de requêtes, réessayez dans {n} s",
    ),
    "de": (
        "Zeitüberschreitung nach {n} Sekunden",
        "Dienst vorübergehend nicht verfügbar ({code})",
        "Verbindung wurde vom Server geschlossen",
        "Datenbank nicht erreichbar, bitte erneut versuchen",
        "interner Serverfehler (Ref. {ref})",
        "zu viele Anfragen, erneut versuchen in {n} s",
    ),
    "zh": (
        "请求在 {n} 秒后超时",
        "服务暂时不可用 ({code})",
        "连接被服务器重置",
        "无法连接数据库 请稍后重试",
        "服务器内部错误 (编号 {ref})",
        "请求过于频繁 请在 {n} 秒后重试",
    ),
}

#: Frequent words by which a language is told; Chinese is told by its characters.
_WORDS = {
    "en": "the and you your for to is of i have with this can please",
    "es": "el la de que y en los por para su con una está puede",
    "fr": "le la les de et vous pour est une des dans votre je avec",
    "de": "der die das und ich sie ist für mit nicht ein bitte ihre zu",
}


def language(run: Trajectory) -> str:
    """Return the language of a run's talk, English where nothing tells."""
    talk = " ".join(m.content for m in run.messages if m.role in ("user", "assistant")).lower()
    if len(re.findall(r"[\u4e00-\u9fff]", talk)) > len(talk) / 10:
        return "zh"
    counts = Counter(re.findall(r"[^\W\d_]+", talk))
    return max(_WORDS, key=lambda name: sum(counts[word] for word in _WORDS[name].split()))


class Faults:
    """Makes error results for one run."""

    def __init__(self, run: Trajectory, corpus: Corpus) -> None:
        own = [step.result for step in run.steps if step.judged and step.is_error and step.result]
        self._seen = own or corpus.errors
        self._language = language(run)

    def result(self, luck: random.Random, tool: str) -> str:
        """Return the text of a failure, framed as an error of the run or its domain is."""
        text = luck.choice(_CAUSES[self._language]).format(
            tool=tool,
            n=luck.choice((2, 5, 10, 15, 20, 30, 45, 60)),
            ms=luck.randrange(900, 30_000),
            code=luck.choice((500, 502, 503, 504)),
            ref=f"{luck.getrandbits(32):08x}",
        )
        framed = luck.choice(self._seen) if self._seen else "Error: "
        if framed.startswith("{"):
            return canonical({"error": text}).replace('":', '": ', 1)
        prefix = re.match(r"[A-Z]\w*(?: \w+)*: (?=\S|$)", framed)
        head = prefix[0] if prefix else "Error: "
        if head in ("Error: ",) and luck.random() < 0.5:
            text = text[:1].upper() + text[1:]
        return head + text
