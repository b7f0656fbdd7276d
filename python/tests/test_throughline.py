"""Tests of the package. THROUGHLINE_PROGRAM is the program to run."""

import base64
import contextlib
import csv
import hashlib
import http.server
import importlib.util
import inspect
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import throughline  # noqa: E402
from throughline import _ask  # noqa: E402

PROGRAM = os.environ.get("THROUGHLINE_PROGRAM")
SMALL = {"model": "Llama-3.1-8B", "system": "H200"}


def asked(*arguments):
    """What the program itself answers."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


@unittest.skipUnless(PROGRAM, "THROUGHLINE_PROGRAM is not set: no program is run")
class Running(unittest.TestCase):
    def test_plan(self):
        a = throughline.plan(**SMALL, gpus=1, tpot="20ms", engine="vllm", program=PROGRAM)
        self.assertEqual(a.data, asked("plan", "--model=Llama-3.1-8B", "--system=H200", "--gpus=1", "--tpot=20ms", "--engine=vllm"))
        self.assertEqual(len(a.rows), len(a["ranked"]))
        self.assertEqual(a.rows[0]["decode.tp"], a["ranked"][0]["decode"]["tp"])
        self.assertTrue(a.frontier)
        self.assertIn("Launch vLLM", repr(a))
        page = a._repr_html_()
        self.assertIn("<svg", page)
        self.assertIn("<table>", page)
        self.assertNotIn("<?xml", page)

    def test_others(self):
        one = throughline.estimate(**SMALL, batch=8, numbers={"sys.mem1.GBps": "x2"}, program=PROGRAM)
        base = throughline.estimate(**SMALL, batch=8, program=PROGRAM)
        self.assertLess(one["clients"]["tpot_ms"], base["clients"]["tpot_ms"])
        self.assertEqual(base.rows[0]["clients.tpot_ms"], base["clients"]["tpot_ms"])
        why = throughline.explain(**SMALL, batch=8, phase="decode", program=PROGRAM)
        self.assertIn("<svg", why.chart())
        load = throughline.simulate(**SMALL, rate=2, num_prompts=10, isl=64, osl=4, prefix_cache=False, program=PROGRAM)
        self.assertEqual(load["completed"], 10)
        self.assertIn("<svg", load.chart())
        self.assertIn("H200", [row["name"] for row in throughline.systems(program=PROGRAM)])
        self.assertGreater(len(throughline.models(program=PROGRAM)), 20)
        self.assertTrue(throughline.diff("H100_SXM", "H200", program=PROGRAM).sentences)

    def test_documentation(self):
        page = (HERE.parent.parent / "docs/api.md").read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```", page, re.S)
        self.assertTrue(examples)
        for code in examples:
            names = {}
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(code, names)
            self.assertIn("Launch", said.getvalue())
            self.assertLess(names["best"]["tpot_s"], 0.020)
            self.assertEqual(list(names["speeds"]), [1, 8, 64])

    def test_several(self):
        a = throughline.estimate(**SMALL, batch=[1, 8], phase="decode", program=PROGRAM)
        self.assertEqual([row["batch"] for row in a.rows], [1, 8])
        self.assertLess(a.rows[0]["decode.step_ms"], a.rows[1]["decode.step_ms"])
        self.assertIsNone(a.chart())

    def test_problems(self):
        with self.assertRaises(throughline.ThroughlineError) as caught:
            throughline.plan(model="Llama-3.1-8B", system="H20O", gpus=-1, program=PROGRAM)
        self.assertEqual(len(caught.exception.problems), 2)
        self.assertIn('did you mean "H200"?', str(caught.exception))

    def test_nothing_found(self):
        a = throughline.plan(model="DeepSeek-V3", system="H200", gpus=1, program=PROGRAM)
        self.assertEqual(a.rows, [])
        self.assertIsNone(a.chart())
        self.assertTrue(any("no plan" in r for r in a.remarks), a.remarks)

    def test_frame(self):
        a = throughline.plan(**SMALL, gpus=1, engine="vllm", program=PROGRAM)
        if importlib.util.find_spec("pandas") is None:
            with self.assertRaisesRegex(ImportError, "rows"):
                a.frame()
            self.skipTest("pandas is not installed: no DataFrame is made")
        frame = a.frame()
        self.assertEqual(list(frame["tpot_s"]), [row["tpot_s"] for row in a.rows])

    def test_notebook(self):
        if importlib.util.find_spec("nbconvert") is None or importlib.util.find_spec("ipykernel") is None:
            self.skipTest("nbconvert is not installed: no notebook is run")
        import nbformat
        from nbconvert.preprocessors import ExecutePreprocessor

        lines = f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); import throughline; throughline.plan(model='Llama-3.1-8B', system='H200', gpus=1, engine='vllm', program={PROGRAM!r})"
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(lines)])
        ExecutePreprocessor(timeout=600).preprocess(book, {})
        self.assertIn("<svg", book.cells[0].outputs[0]["data"]["text/html"])


class Server(http.server.BaseHTTPRequestHandler):
    """Answers as throughline web does."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer secret":
            return self.say(403, {"problems": [{"message": "the key is missing"}]})
        if body.get("gpus") == "0":
            return self.say(400, {"problems": [{"setting": "gpus", "message": "is low"}, {"message": "and more"}]})
        if body.get("gpus") == "9":
            return self.say(500, None)
        self.say(200, {"answer": ["Yes & no."], "asked": body, "path": self.path, "ranked": [{"gpus": 1}]})

    def do_GET(self):
        if self.path.startswith("/choose/frontier.svg"):
            return self.say(200, "<?xml?><svg id='" + self.path + "'></svg>")
        self.say(200, [{"name": "H200", "path": self.path}])

    def say(self, status, value):
        text = value if isinstance(value, str) else json.dumps(value) if value is not None else "<h1>broken</h1>"
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode("utf-8"))

    def log_message(self, *_):
        pass


class Asking(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_questions(self):
        a = throughline.plan(**SMALL, gpus=[8, 16], price=["H200=3"], prefix_cache=True, numbers={"sys.mem1.GBps": 6000}, url=self.url, key="secret")
        self.assertEqual(a["path"], "/api/v1/plan")
        self.assertEqual(a["asked"], {**SMALL, "gpus": "8,16", "price": "H200=3", "prefix-cache": "true", "set": "sys.mem1.GBps=6000"})
        self.assertIn("Yes &amp; no.", a._repr_html_())
        self.assertIn("model=Llama-3.1-8B", a.chart())
        self.assertEqual(throughline.systems(url=self.url, key="secret").rows[0]["name"], "H200")
        self.assertIn("a=H100", throughline.diff("H100", "H200", url=self.url + "/").rows[0]["path"])

    def test_problems(self):
        for arguments, want in (({"key": "other"}, ["the key is missing"]), ({"key": "secret", "gpus": 0}, ["gpus: is low", "and more"]), ({"key": "secret", "gpus": 9}, ["500 Internal Server Error: <h1>broken</h1>"])):
            with self.assertRaises(throughline.ThroughlineError) as caught:
                throughline.plan(url=self.url, **arguments)
            self.assertEqual(caught.exception.problems, want)


class Package(unittest.TestCase):
    def test_keywords(self):
        for function in (throughline.plan, throughline.estimate, throughline.explain, throughline.simulate, throughline.compare):
            parameters = inspect.signature(function).parameters
            for name in ("model", "system", "isl", "numbers", "url", "key", "program"):
                self.assertIn(name, parameters)
            for name in parameters:
                self.assertIn(f"        {name}: ", function.__doc__)

    def test_no_program(self):
        with self.assertRaises(OSError):
            throughline.models(program="/nowhere/throughline")

    def test_escapes(self):
        a = throughline.Answer("plan", {"answer": ["<script>"], "ranked": [{"<b>": "<i>"}]}, ["<u>"])
        page = a._repr_html_()
        for tag in ("<script>", "<b>", "<i>", "<u>"):
            self.assertNotIn(tag, page)

    def test_wheel(self):
        spec = importlib.util.spec_from_file_location("wheel", HERE.parent / "wheel.py")
        wheel = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(wheel)
        for number, want in (("0.2.0", "0.2.0"), ("0.2.0-dev", "0.2.0.dev0"), ("1.0.0-rc.2", "1.0.0rc2"), ("1.0.0-beta3", "1.0.0b3")):
            self.assertEqual(wheel.public(number), want)
        with self.assertRaises(SystemExit):
            wheel.public("1.0-final-cut")
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text("#!/bin/sh\necho '[{\"name\": \"mine\", \"said\": \"'$1'\"}]'\n")
            made = [wheel.write(platform, program, folder) for platform in wheel.PLATFORMS]
            self.assertEqual(len({path.name for path in made}), 6)
            for path in made:
                self.check_wheel(path)
            first = made[0].read_bytes()
            self.assertEqual(wheel.write("linux-amd64", program, folder).read_bytes(), first)
            self.installed(made[0], folder)

    def check_wheel(self, path):
        """A wheel has what its list says, and its name the tags."""
        name, version, python, abi, platforms = path.name[: -len(".whl")].split("-")
        with zipfile.ZipFile(path) as z:
            self.assertIsNone(z.testzip())
            info = f"{name}-{version}.dist-info/"
            listed = {row[0]: row[1:] for row in csv.reader(io.StringIO(z.read(info + "RECORD").decode("utf-8")))}
            self.assertEqual(set(listed), set(z.namelist()))
            for file, (digest, size) in listed.items():
                if file == info + "RECORD":
                    continue
                data = z.read(file)
                self.assertEqual(int(size), len(data))
                self.assertEqual(digest, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="))
            tags = [line.split(": ")[1] for line in z.read(info + "WHEEL").decode().splitlines() if line.startswith("Tag: ")]
            self.assertEqual(tags, [f"{python}-{abi}-{platform}" for platform in platforms.split(".")])
            meta = z.read(info + "METADATA").decode("utf-8")
            self.assertIn(f"\nName: {name}\nVersion: {version}\n", meta)
            program = [i for i in z.infolist() if "/bin/" in i.filename]
            self.assertEqual([i.external_attr >> 16 for i in program], [0o100755])
            self.assertEqual(program[0].filename.endswith(".exe"), "win_" in platforms)

    def installed(self, path, folder):
        """The package of a wheel runs the program that it carries."""
        place = pathlib.Path(folder) / "site"
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--quiet", "--target", str(place), str(path)], capture_output=True, encoding="utf-8")
        if "No module named pip" in done.stderr:
            with zipfile.ZipFile(path) as z:
                z.extractall(place)
            (place / "throughline/bin/throughline").chmod(0o755)
        elif done.returncode:
            self.fail(done.stderr)
        code = "import throughline; print(throughline.models().rows)"
        said = subprocess.run([sys.executable, "-c", code], env={**{k: v for k, v in os.environ.items() if k != "THROUGHLINE_PROGRAM"}, "PYTHONPATH": str(place)}, cwd=folder, capture_output=True, encoding="utf-8")
        self.assertEqual(said.stdout.strip(), "[{'name': 'mine', 'said': 'models'}]", said.stderr)


if __name__ == "__main__":
    unittest.main()
