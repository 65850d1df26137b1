"""What a unit of ``deploy/`` starts, under its mounts, which are made in a name space of our own.

Not of the unit are here: its user, system calls, capabilities and limits, and that homes cannot be listed.
"""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import hushrec

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
HOMES, TEMPORARY = ("/home", "/root", "/run/user"), ("/tmp", "/var/tmp")
UNMOUNTABLE = "this machine lets nobody mount in a name space of their own (unshare)"
_NEEDED = sys.prefix, sys.base_prefix, str(Path(hushrec.__file__).parent)
_INSTALLED = "/opt/hushrec"  # where the units have the program


def mounts():
    """Whether this machine lets us make mounts of our own."""
    if not shutil.which("unshare"):
        return False
    tried = ["unshare", "--map-root-user", "--mount", "--net", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


def service(name):
    """The settings of a unit's service, each with its values in their order."""
    return settings((DEPLOY / name).read_text("utf-8"))


def settings(text):
    """The settings in the section ``[Service]`` of a unit, each with its values in their order."""
    found = {}
    section = text.replace("\\\n", " ").partition("[Service]")[2].partition("\n[")[0]
    for line in section.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def command(unit):
    """The words that a unit starts."""
    (line,) = unit["ExecStart"]
    return shlex.split(line.replace("%%", "%"))


def started(unit, folder, cache):
    """Start what a unit starts under its mounts, as the user that it names has them.

    Args:
        unit: its settings.
        folder: what is at its working directory.
        cache: what is at its cache directory, if it has one.
    """
    (home,), scratch = unit["WorkingDirectory"], folder.parent
    environment = {"PATH": "/usr/bin:/bin", "HOME": f"/home/{unit['User'][0]}"}
    environment |= dict(
        pair.replace("%C", "/var/cache").split("=", 1)
        for line in unit.get("Environment", [])
        for pair in line.split()
    )
    binds, writable = {folder: home, sys.prefix: _INSTALLED}, {*unit.get("ReadWritePaths", [])}
    if "CacheDirectory" in unit:
        binds[cache] = f"/var/cache/{unit['CacheDirectory'][0]}"
        writable.add(binds[cache])
        environment["CACHE_DIRECTORY"] = binds[cache]
    assert unit["ProtectSystem"] == ["strict"]
    empty = [*(HOMES if unit.get("ProtectHome") == ["yes"] else ()), "/opt", "/srv", "/var/cache"]
    if unit.get("PrivateTmp") == ["yes"]:
        empty += TEMPORARY
        writable |= {*TEMPORARY}
    script = scratch / "start.sh"
    script.write_text(_script(empty, binds, writable, home, command(unit)), "utf-8")
    apart = ["--net"] if unit.get("PrivateNetwork") == ["yes"] else []
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", *apart, "/bin/sh", "-e", str(script)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def _script(empty, binds, writable, home, words):
    """Empty what the unit hides, put back what is bound there, make all else read-only, and start."""
    shown = [
        *((source, source) for source in _NEEDED),
        *((str(source), place) for source, place in binds.items()),
    ]
    lines, back = ["mount -t tmpfs none /mnt"], []
    for n, (source, place) in enumerate(shown):
        lines += [f"mkdir /mnt/{n}", f"mount --bind {shlex.quote(source)} /mnt/{n}"]
        back += [f"mkdir -p {shlex.quote(place)}", f"mount --bind /mnt/{n} {shlex.quote(place)}"]
    lines += [f"if [ -d {place} ]; then mount -t tmpfs none {place}; fi" for place in empty]
    kept = "|".join(shlex.quote(place) for place in ["/dev", "/proc", "/sys", *sorted(writable)])
    return "\n".join(
        [
            *lines,
            *back,
            "cut -d ' ' -f 5 /proc/self/mountinfo | while read -r place; do",
            f"  case $place in {kept}|/dev/*|/proc/*|/sys/*) continue ;; esac",
            '  [ -e "$place" ] || continue',  # another mount hides it
            '  mount -o remount,ro,bind "$place"',
            "done",
            f"cd {shlex.quote(home)}",
            "umask 0077",
            f"exec {shlex.join(words)}",
        ]
    )
