"""What schemathesis finds against the service by its own OpenAPI: ``make fuzz-service``.

    python tests/fuzz/service.py SCHEMATHESIS [EXAMPLES]

starts ``hushrec serve`` in a process of its own, on a release and its signature, and runs schemathesis, a
program of another environment, with all its checks. Exits as schemathesis does.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.releases import release
from support.signed import signature


def main(program, examples="200"):
    with tempfile.TemporaryDirectory() as folder:
        path = release().save(Path(folder) / "films.safetensors")
        text = signature(path.read_bytes(), name=path.name)
        path.with_name(f"{path.name}.dsse.json").write_text(text, "utf-8")
        command = [sys.executable, "-c", "from hushrec.cli import main; main()", "serve", folder]
        serving = subprocess.Popen(
            [*command, "--port", "0", "--rate", "0"], stderr=subprocess.PIPE, text=True
        )
        try:
            url = re.search(r"http://[^ ]+\d", serving.stderr.readline())[0]
            checks = ["--checks", "all", "--max-examples", examples]
            return subprocess.run([program, "run", f"{url}/openapi.json", *checks], cwd=folder).returncode
        finally:
            serving.terminate()
            print(serving.communicate(timeout=30)[1], end="")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
