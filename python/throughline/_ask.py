"""Runs the program, or asks a server, and shows what it answers."""

import html
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

# Exit codes of the program (docs/output.md): these come with an answer.
_DONE, _NOTHING_FOUND, _LIMITS_BROKEN = 0, 1, 4

# The chart that shows an answer: by the program, and where a server has it.
_CHARTS = {
    "plan": ("frontier", "choose/frontier.svg"),
    "explain": ("waterfall", "why/waterfall.svg"),
    "simulate": ("load", "load/load.svg"),
}

_PATIENCE = 600  # seconds to wait for a server


class ThroughlineError(ValueError):
    """All that is wrong with a question; .problems has them one by one."""

    def __init__(self, problems):
        self.problems = problems
        super().__init__("\n".join(problems))


class Answer:
    """What was answered: .data as JSON, .sentences, .remarks, .rows, .frame(), .chart()."""

    def __init__(self, command, data, remarks=(), draw=None):
        self.command, self.data, self.remarks, self._draw = command, data, list(remarks), draw
        self._svg = None

    @property
    def sentences(self):
        """The answer in a sentence or two."""
        said = self.data.get("answer") or self.data.get("why") or [] if isinstance(self.data, dict) else []
        return said if isinstance(said, list) else [said]

    @property
    def rows(self):
        """The answer as a list of flat dictionaries: deployments of a plan, points of several questions, or one."""
        data = self.data
        if isinstance(data, list):
            return [_flat(row) for row in data]
        if "points" in data:
            return [{**point.get("settings", {}), **row} for point in data["points"] for row in _best(point)]
        for name in ("ranked", "rows"):
            if isinstance(data.get(name), list):
                return [_flat(row) for row in data[name]]
        return [_flat(data)]

    @property
    def frontier(self):
        """The frontier of a plan, as rows."""
        return [_flat(row) for row in self.data.get("frontier", [])]

    def frame(self):
        """The rows as a DataFrame of pandas."""
        try:
            import pandas
        except ImportError as e:
            raise ImportError("frame() needs pandas; .rows are the same as dictionaries") from e
        return pandas.DataFrame(self.rows)

    def chart(self):
        """The chart of the answer as SVG; None where there is none."""
        if self._svg is None and self._draw is not None:
            self._svg = self._draw() or ""
        return self._svg or None

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, name):
        return self.data[name]

    def __repr__(self):
        lines = self.sentences + self.remarks
        return "\n".join(lines) if lines else f"<throughline {self.command}: {len(self.rows)} rows>"

    def _repr_html_(self):
        parts = [f"<p>{html.escape(line)}</p>" for line in self.sentences]
        parts += [f"<p><em>{html.escape(line)}</em></p>" for line in self.remarks]
        if svg := self.chart():
            parts.append(svg[svg.index("<svg"):])
        parts.append(_table(self.rows))
        return "\n".join(parts)


def ask(command, settings, numbers=None, url=None, key=None, program=None):
    """Ask a command with settings by name."""
    words = {name: value for name, value in settings.items() if value is not None}
    for name, value in (numbers or {}).items():
        words["set"] = ",".join(filter(None, [_word(words.get("set", "")), f"{name}={_word(value)}"]))
    if url:
        data = _fetch(url, key, command, words)
        return Answer(command, data, draw=lambda: _fetch_chart(url, key, command, words))
    arguments = [f"--{name}={_word(value)}" for name, value in words.items()]
    data, remarks = _run(program, [command, *arguments])
    return Answer(command, data, remarks, lambda: _run_chart(program, command, arguments, data))


def diff(a, b, *, url=None, key=None, program=None):
    """Put two systems, rows of plans (plan.json#1) or files of results side by side."""
    if url:
        return Answer("diff", _fetch(url, key, "diff", {"a": a, "b": b}, get=True))
    data, remarks = _run(program, ["diff", a, b])
    return Answer("diff", data, remarks)


def models(*, url=None, key=None, program=None):
    """The built-in models."""
    return _listed("models", url, key, program)


def systems(*, url=None, key=None, program=None):
    """The built-in systems."""
    return _listed("systems", url, key, program)


def _listed(what, url, key, program):
    if url:
        return Answer(what, _fetch(url, key, what, {}, get=True))
    data, remarks = _run(program, [what])
    return Answer(what, data, remarks)


def _word(value):
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, range)):
        return ",".join(_word(one) for one in value)
    return str(value)


def _flat(row, before=""):
    """A row without objects in it: decode.tp is the tp of decode. Lists of objects are left out."""
    out = {}
    for name, value in row.items():
        if isinstance(value, dict):
            out.update(_flat(value, f"{before}{name}."))
        elif not (isinstance(value, list) and value and isinstance(value[0], (dict, list))):
            out[before + name] = value
    return out


def _best(point):
    answer = point.get("answer")
    if not isinstance(answer, dict):
        return [{name: value for name, value in _flat(point).items() if not name.startswith("settings.")}]
    if isinstance(answer.get("ranked"), list):
        return [_flat(row) for row in answer["ranked"][:1]]
    return [_flat(answer)]


def _carried():
    """The program of this package, if it has one."""
    for name in ("throughline", "throughline.exe"):
        beside = pathlib.Path(__file__).parent / "bin" / name
        if beside.exists():
            return str(beside)
    return None


def _program(program):
    found = program or os.environ.get("THROUGHLINE_PROGRAM") or _carried() or shutil.which("throughline")
    if not found:
        raise FileNotFoundError("there is no program throughline on the PATH and none in this package; give program= or url=")
    return found


def _start(program, arguments):
    return subprocess.run([_program(program), *arguments], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)


def _run(program, arguments):
    done = _start(program, [arguments[0], "--json", *arguments[1:]])
    remarks = [line for line in done.stderr.splitlines() if line]
    if done.returncode not in (_DONE, _NOTHING_FOUND, _LIMITS_BROKEN) or not done.stdout.strip():
        raise ThroughlineError([line for line in remarks if not line.startswith("throughline: ") or len(remarks) == 1])
    return json.loads(done.stdout), remarks


def _run_chart(program, command, arguments, data):
    if command not in _CHARTS or "points" in data or command == "plan" and not data.get("ranked"):
        return None
    kind = _CHARTS[command][0]
    if command == "explain" and "clients" not in data:
        kind = "share"  # a bare step has no TPOT
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "chart.svg"
        _start(program, [command, *arguments, "--theme=auto", f"--chart={kind}={file}"])
        return file.read_text(encoding="utf-8") if file.exists() else None


def _request(url, key, path, body=None):
    request = urllib.request.Request(urllib.parse.urljoin(url.rstrip("/") + "/", path), data=body)
    if key := key or os.environ.get("THROUGHLINE_KEY"):
        request.add_header("Authorization", "Bearer " + key)
    if body is not None:
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
        return answer.read().decode("utf-8")


def _fetch(url, key, command, words, get=False):
    try:
        if get:
            return json.loads(_request(url, key, f"api/v1/{command}?" + urllib.parse.urlencode(words)))
        words = {name: _word(value) for name, value in words.items()}
        return json.loads(_request(url, key, f"api/v1/{command}", json.dumps(words).encode("utf-8")))
    except urllib.error.HTTPError as e:
        text = e.read().decode("utf-8", "replace")
        try:
            problems = json.loads(text)["problems"]
        except (ValueError, KeyError, TypeError):
            raise ThroughlineError([f"{e.code} {e.reason}: {text.strip()}"]) from None
        raise ThroughlineError([": ".join(filter(None, [p.get("file"), p.get("setting"), p["message"]])) for p in problems]) from None


def _fetch_chart(url, key, command, words):
    if command not in _CHARTS:
        return None
    query = urllib.parse.urlencode({name: _word(value) for name, value in words.items()})
    try:
        text = _request(url, key, f"{_CHARTS[command][1]}?{query}")
    except urllib.error.URLError:
        return None  # the answer is there, and a server may have no charts
    return text if "<svg" in text else None


_MOST_COLUMNS, _MOST_ROWS = 12, 20


def _table(rows):
    """Rows as HTML, as many as are read at a glance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))[:_MOST_COLUMNS]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in columns) + "</tr>" for row in rows[:_MOST_ROWS])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value):
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main():
    """The program of this package, as a command."""
    program = _carried()
    if not program:
        sys.exit("this package has no program for this machine; install Throughline itself")
    if os.name == "nt":  # which cannot replace a process
        sys.exit(subprocess.run([program, *sys.argv[1:]]).returncode)
    os.execv(program, [program, *sys.argv[1:]])
