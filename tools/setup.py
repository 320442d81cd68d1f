"""Creates .venv from requirements.txt, and installs what is no Python package.

Runs with the standard library alone, on any Python 3, so that an old one gets
a clear sentence instead of a syntax error.
"""

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "ready")
COMPILED = os.path.join(VENV, "compiled")
LOG = os.path.join(VENV, "install.log")
OLDEST, NEWEST = (3, 11), (3, 13)
INSTALLER = "uv==0.13.9"  # installs in seconds what takes pip minutes
# How pip words a registry that cannot be reached, in its versions since 23.
UNREACHABLE = (
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "NameResolutionError",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Connection refused",
    "ProxyError",
    "Max retries exceeded",
    "Network is unreachable",
    "No matching distribution found for setuptools",
)


def stop(sentence):
    """End with one sentence on standard error."""
    sys.exit("setup: " + sentence)


def wanted():
    """What .venv must have been made from to be up to date.

    Of pyproject.toml only what an installation reads counts: a rule of the
    linter is no reason to install anything again.
    """
    import tomllib  # not there in a Python that is refused

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        declared = tomllib.load(file)
    tools = declared.pop("tool", {}).get("setuptools", {})
    digest = hashlib.sha256(sys.version.encode())
    digest.update(json.dumps([declared, tools], sort_keys=True).encode())
    with open(os.path.join(ROOT, "requirements.txt"), "rb") as file:
        digest.update(file.read())
    digest.update(ROOT.encode())
    return digest.hexdigest()


def current():
    """What .venv was made from, or None."""
    try:
        with open(STAMP) as file:
            return file.read()
    except OSError:
        return None


def check_python():
    """Stop unless this Python is one that the locked packages support."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        stop(
            "Python %d.%d to %d.%d is needed, %s is %d.%d; name another with "
            "make PYTHON=python3.12"
            % (OLDEST + NEWEST + (sys.executable,) + sys.version_info[:2])
        )


def create():
    """Make .venv anew and install every locked package into it.

    uv installs them where it can; where it cannot, for instance because only
    pip knows the registry, pip does.
    """
    print(
        "setup: installing the locked packages into .venv "
        "(1.5 GB, once; half a minute, with pip alone two) ..."
    )
    sys.stdout.flush()
    shutil.rmtree(VENV, ignore_errors=True)
    # This Python may be the one of the .venv that was just removed.
    python = getattr(sys, "_base_executable", sys.executable)
    if subprocess.call([python, "-m", "venv", VENV]):
        stop("python -m venv failed; on Debian: apt-get install python3-venv")
    with open(LOG, "w") as log:
        done = (
            not logged(pip(INSTALLER), log)
            and not logged(uv("install", "-r", "requirements.txt"), log)
        ) or not logged(pip("-r", "requirements.txt"), log)
    if not done:
        explain()
    with open(STAMP, "w") as file:
        file.write(wanted())
    print("setup: .venv is ready")


def pip(*arguments):
    """The command line of pip in .venv."""
    command = [os.path.join(VENV, "bin", "python"), "-m", "pip", "install"]
    command += ["--quiet", "--retries", "2", "--timeout", "60"]
    return command + ["--disable-pip-version-check"] + list(arguments)


def uv(verb, *arguments):
    """The command line of uv in .venv."""
    command = [os.path.join(VENV, "bin", "uv"), "pip", verb, "--quiet"]
    return command + ["--native-tls"] + list(arguments)


def logged(command, log):
    """Run a command, its output into `log`; returns its exit status."""
    return subprocess.call(
        command,
        cwd=ROOT,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, VIRTUAL_ENV=VENV),
    )


def compile_packages():
    """Compile the packages, once: a sandbox keeps nothing that it makes."""
    if current() != wanted() or os.path.exists(COMPILED):
        return
    print("setup: compiling the packages (half a minute, once) ...")
    sys.stdout.flush()
    command = [os.path.join(VENV, "bin", "python"), "-m", "compileall"]
    command += ["-q", "-q", "-j", "0", os.path.join(VENV, "lib")]
    subprocess.call(command)
    with open(COMPILED, "w"):
        pass


def explain():
    """Stop with the reason that pip's log gives."""
    with open(LOG) as log:
        text = log.read()
    if any(words in text for words in UNREACHABLE):
        stop(
            "the package registry cannot be reached; check the network and "
            "pip's configuration, then run the same command again"
        )
    lines = [line for line in text.splitlines() if line.startswith("ERROR")]
    said = lines[-1] if lines else "see " + os.path.relpath(LOG)
    stop("pip could not install the packages: " + said)


# What some tests and commands need beside Python: program -> Debian package.
# PostgreSQL's server is kept off the PATH, in a folder of its version.
PACKAGES = {
    "--browser": ("chromium", "chromium", "the tests of the pages"),
    "--sandbox": (
        "bwrap",
        "bubblewrap libseccomp2",
        "the sandbox of the grader",
    ),
    "--database": ("postgres", "postgresql", "the tests of a shared gradebook"),
}
APART = "/usr/lib/postgresql/*/bin/"


def there(program):
    """Whether a program is installed."""
    return bool(shutil.which(program) or glob.glob(APART + program))


def debian_package(program, package, purpose):
    """Install a Debian package if `program` is missing and it can be done.

    In CI a missing program is a failure; elsewhere the tests that need it are
    skipped, and say which command installs it.
    """
    if there(program):
        return
    command = "apt-get install -y --no-install-recommends " + package
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("setup: %s needs %s; as root: %s" % (purpose, package, command))
        sys.stdout.flush()
        for words in ("apt-get update -qq", command + " -qq"):
            subprocess.call(words.split(), stdout=subprocess.DEVNULL)
    if there(program):
        return
    if os.environ.get("CI") == "true":
        stop("%s is missing and could not be installed" % program)
    print(
        "setup: %s is missing, so its tests are skipped; on Debian install "
        "it with: sudo %s" % (program, command)
    )


def lock():
    """Compile requirements.txt from pyproject.toml for all three Pythons."""
    command = uv("compile", "pyproject.toml", "--universal", "--all-extras")
    command += ["--python-version", "%d.%d" % OLDEST, "--no-header"]
    command += ["--annotation-style", "line"]
    compiled = subprocess.check_output(command, cwd=ROOT).decode()
    with open(os.path.join(ROOT, "requirements.txt"), "w") as file:
        file.write(compiled + "-e .\n")


def main():
    """The command line."""
    check_python()
    for option in sys.argv[1:]:
        if option in PACKAGES:
            debian_package(*PACKAGES[option])
    if "--sandbox" in sys.argv:
        compile_packages()
    if "--lock" in sys.argv:
        lock()
    elif len(sys.argv) == 1 and current() != wanted():
        create()


if __name__ == "__main__":
    main()
