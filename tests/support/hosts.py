"""Hosts of a site on this machine's loopback, each with the configuration that ``deploy/`` has for it."""

import contextlib
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KINDS = ("nginx", "caddy")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
}
"""Headers of every answer."""


@contextlib.contextmanager
def hosted(kind, site, scratch):
    """The address of nginx or Caddy with a site, configured as in ``deploy/`` but for address and folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = {"nginx": _nginx, "caddy": _caddy}[kind](site, port, scratch)
    log = scratch / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=scratch, env=_env(scratch))
    try:
        _wait(process, port, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _env(scratch):
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch)}


def _nginx(site, port, scratch):
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    text = re.sub(r"listen .*;", f"listen 127.0.0.1:{port};", text)
    text = re.sub(r" *ssl_certificate.*\n", "", text)
    text = text.replace("/srv/hushrec/site", str(site))
    (scratch / "site.conf").write_text(text, "utf-8")
    paths = " ".join(
        f"{name}_temp_path {scratch}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (scratch / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {scratch}/nginx.pid; error_log stderr;\n"
        f"events {{}} http {{ include /etc/nginx/mime.types; {paths} include {scratch}/site.conf; }}\n",
        "utf-8",
    )
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    return [program, "-c", str(scratch / "nginx.conf"), "-p", str(scratch), "-e", "stderr"]


def _caddy(site, port, scratch):
    text = (DEPLOY / "Caddyfile").read_text("utf-8").replace("/srv/hushrec/site", str(site))
    text = text.replace("films.example", f"http://127.0.0.1:{port}")
    (scratch / "Caddyfile").write_text("{\n\tadmin off\n}\n" + text, "utf-8")
    return ["caddy", "run", "--config", str(scratch / "Caddyfile"), "--adapter", "caddyfile"]


def _wait(process, port, log):
    """Until the port answers."""
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, log.read_text("utf-8", "replace")
        time.sleep(0.05)
    raise AssertionError(log.read_text("utf-8", "replace"))
