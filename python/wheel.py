"""Writes wheels that carry the program: python3 python/wheel.py FOLDER [TAG…]

A wheel is a zip file with its list of contents (packaging.python.org/specifications/binary-distribution-format):
no tool but Go and Python is needed. The same sources give the same bytes.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "throughline"

# Go's systems and processors, and the tags of wheels for them. The program is static: any Linux runs it. The oldest macOS
# is that of Go 1.26 (go.dev/doc/go1.26).
PLATFORMS = {
    "linux-amd64": ["manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "linux-arm64": ["manylinux2014_aarch64", "musllinux_1_1_aarch64"],
    "darwin-amd64": ["macosx_12_0_x86_64"],
    "darwin-arm64": ["macosx_12_0_arm64"],
    "windows-amd64": ["win_amd64"],
    "windows-arm64": ["win_arm64"],
}

EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip file can say


def version():
    source = (ROOT / "internal/version/version.go").read_text(encoding="utf-8")
    return public(re.search(r'Number = "([^"]+)"', source).group(1))


def public(number):
    """A version as Python writes it (packaging.python.org/specifications/version-specifiers): 0.2.0-dev is 0.2.0.dev0."""
    release, _, stage = number.partition("-")
    found = re.fullmatch(r"(dev|rc|beta|alpha)?\.?(\d*)", stage)
    if not re.fullmatch(r"\d+(\.\d+)*", release) or not found:
        sys.exit(f"version {number} cannot be one of a Python package")
    kind = {"dev": ".dev", "rc": "rc", "beta": "b", "alpha": "a", None: ""}[found.group(1)]
    return release + (kind and kind + (found.group(2) or "0"))


def build(platform, file):
    """Builds the program for a platform."""
    system, processor = platform.split("-")
    env = {**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": processor}
    subprocess.run(["go", "build", "-trimpath", "-tags=stdlibjson", "-ldflags=-s -w", "-o", str(file), "./cmd/throughline"], cwd=ROOT, env=env, check=True)


def metadata():
    return f"""Metadata-Version: 2.1
Name: {NAME}
Version: {version()}
Summary: Predicts how large language models run on GPUs and other AI chips, and plans deployments
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{(ROOT / "python/README.md").read_text(encoding="utf-8")}"""


def wheel_text(tags):
    lines = ["Wheel-Version: 1.0", f"Generator: {NAME} {version()}", "Root-Is-Purelib: false"]
    return "\n".join(lines + [f"Tag: py3-none-{tag}" for tag in tags]) + "\n"


def contents(platform, program):
    """The files of a wheel, as name, bytes and whether they are run."""
    info = f"{NAME}-{version()}.dist-info"
    for file in sorted((ROOT / "python" / NAME).glob("*.py")):
        yield f"{NAME}/{file.name}", file.read_bytes(), False
    yield f"{NAME}/bin/{NAME}{'.exe' if platform.startswith('windows') else ''}", pathlib.Path(program).read_bytes(), True
    yield f"{info}/METADATA", metadata().encode("utf-8"), False
    yield f"{info}/WHEEL", wheel_text(PLATFORMS[platform]).encode("utf-8"), False
    yield f"{info}/entry_points.txt", f"[console_scripts]\n{NAME} = {NAME}._ask:main\n".encode("utf-8"), False
    for name in ("LICENSE", "THIRD_PARTY_NOTICES"):
        yield f"{info}/licenses/{name}", (ROOT / name).read_bytes(), False


def write(platform, program, folder):
    """Writes the wheel of a platform around a program, and returns its path."""
    info = f"{NAME}-{version()}.dist-info"
    path = pathlib.Path(folder) / f"{NAME}-{version()}-py3-none-{'.'.join(PLATFORMS[platform])}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def put(name, data, run=False):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whose modes these are
            entry.external_attr = (0o100755 if run else 0o100644) << 16
            wheel.writestr(entry, data)

        for name, data, run in contents(platform, program):
            put(name, data, run)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
            record.append(f"{name},sha256={digest},{len(data)}")
        put(f"{info}/RECORD", ("\n".join(record + [f"{info}/RECORD,,"]) + "\n").encode("utf-8"))
    return path


def main(folder, *platforms):
    for platform in platforms or PLATFORMS:
        if platform not in PLATFORMS:
            sys.exit(f"no platform {platform}: there are {', '.join(PLATFORMS)}")
        program = pathlib.Path(folder) / platform / NAME
        build(platform, program)
        print(write(platform, program, folder))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
