"""Creates .venv from requirements.txt, and installs what is no Python package.

With --page it creates .venv-page instead, which holds what builds the page and
nothing else, unless .venv is there already; then it builds the page.

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
PAGE_VENV = os.path.join(ROOT, ".venv-page")
COMPILED = os.path.join(VENV, "compiled")
# Environment -> its list of packages, and how long one waits for them.
LISTS = {
    VENV: (
        "requirements.txt",
        "1.5 GB, once; half a minute, with pip alone two",
    ),
    PAGE_VENV: ("requirements-page.txt", "0.3 GB, once; ten seconds"),
}
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


def wanted(venv=VENV):
    """What an environment must have been made from to be up to date.

    Of pyproject.toml only what an installation reads counts: a rule of the
    linter is no reason to install anything again.
    """
    import tomllib  # not there in a Python that is refused

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        declared = tomllib.load(file)
    tools = declared.pop("tool", {}).get("setuptools", {})
    declared.pop("dependency-groups", None)  # requirements-page.txt has them
    if venv == PAGE_VENV:
        declared, tools = None, None
    digest = hashlib.sha256(sys.version.encode())
    digest.update(json.dumps([declared, tools], sort_keys=True).encode())
    with open(os.path.join(ROOT, LISTS[venv][0]), "rb") as file:
        digest.update(file.read())
    digest.update(ROOT.encode())
    return digest.hexdigest()


def current(venv=VENV):
    """What an environment was made from, or None."""
    try:
        with open(os.path.join(venv, "ready")) as file:
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


def create(venv=VENV):
    """Make an environment anew and install every locked package into it.

    uv installs them where it can; where it cannot, for instance because only
    pip knows the registry, pip does.
    """
    packages, patience = LISTS[venv]
    print(
        "setup: installing the locked packages into %s (%s) ..."
        % (os.path.basename(venv), patience)
    )
    sys.stdout.flush()
    shutil.rmtree(venv, ignore_errors=True)
    # This Python may be the one of the .venv that was just removed.
    python = getattr(sys, "_base_executable", sys.executable)
    if subprocess.call([python, "-m", "venv", venv]):
        stop("python -m venv failed; on Debian: apt-get install python3-venv")
    path = os.path.join(venv, "install.log")
    with open(path, "w") as log:
        done = (
            not logged(pip(venv, INSTALLER), log, venv)
            and not logged(uv(venv, "install", "-r", packages), log, venv)
        ) or not logged(pip(venv, "-r", packages), log, venv)
    if not done:
        explain(path)
    with open(os.path.join(venv, "ready"), "w") as file:
        file.write(wanted(venv))
    print("setup: %s is ready" % os.path.basename(venv))


def pip(venv, *arguments):
    """The command line of pip in an environment."""
    command = [os.path.join(venv, "bin", "python"), "-m", "pip", "install"]
    command += ["--quiet", "--retries", "2", "--timeout", "60"]
    return command + ["--disable-pip-version-check"] + list(arguments)


def uv(venv, verb, *arguments):
    """The command line of uv in an environment."""
    command = [os.path.join(venv, "bin", "uv"), "pip", verb, "--quiet"]
    return command + ["--native-tls"] + list(arguments)


def logged(command, log, venv):
    """Run a command, its output into `log`; returns its exit status."""
    return subprocess.call(
        command,
        cwd=ROOT,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, VIRTUAL_ENV=venv),
    )


def page():
    """Build the page, in the environment that is there or in a small one."""
    venv = VENV if current() == wanted() else PAGE_VENV
    if venv == PAGE_VENV and current(venv) != wanted(venv):
        create(venv)
    sys.stdout.flush()
    python = os.path.join(venv, "bin", "python")
    os.chdir(ROOT)
    os.execv(python, [python, "-m", "tools.page"])


def compile_packages():
    """Compile what tests and grading load again and again.

    A sandbox keeps nothing that it makes, and each of a thousand processes
    would compile the library anew. The packages are compiled once.
    """
    if current() != wanted():
        return
    command = [os.path.join(VENV, "bin", "python"), "-m", "compileall"]
    command += ["-q", "-q", "-j", "0"]
    subprocess.call(command + [os.path.join(ROOT, "shardlab")])
    if os.path.exists(COMPILED):
        return
    print("setup: compiling the packages (half a minute, once) ...")
    sys.stdout.flush()
    subprocess.call(command + [os.path.join(VENV, "lib")])
    with open(COMPILED, "w"):
        pass


def explain(path):
    """Stop with the reason that pip's log gives."""
    with open(path) as log:
        text = log.read()
    if any(words in text for words in UNREACHABLE):
        stop(
            "the package registry cannot be reached; check the network and "
            "pip's configuration, then run the same command again"
        )
    lines = [line for line in text.splitlines() if line.startswith("ERROR")]
    said = lines[-1] if lines else "see " + os.path.relpath(path)
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

    In CI on Linux a missing program is a failure; elsewhere the tests that need
    it are skipped, and say which command installs it.
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
    if os.environ.get("CI") == "true" and sys.platform == "linux":
        stop("%s is missing and could not be installed" % program)
    print(
        "setup: %s is missing, so its tests are skipped; on Debian install "
        "it with: sudo %s" % (program, command)
    )


def lock():
    """Compile both lists from pyproject.toml for all three Pythons.

    The short one has the versions of the long one.
    """
    universal = ["--universal", "--python-version", "%d.%d" % OLDEST]
    universal += ["--no-header", "--annotation-style", "line"]
    everything = uv(VENV, "compile", "pyproject.toml", "--all-extras")
    compiled = subprocess.check_output(everything + universal, cwd=ROOT)
    with open(os.path.join(ROOT, "requirements.txt"), "w") as file:
        file.write(compiled.decode() + "-e .\n")
    versions = os.path.join(VENV, "versions.txt")
    with open(versions, "wb") as file:
        file.write(compiled)
    few = uv(VENV, "compile", "--group", "page", "-c", versions)
    short = subprocess.check_output(few + universal, cwd=ROOT).decode()
    lines = [line.split(" #")[0].rstrip() for line in short.splitlines()]
    with open(os.path.join(ROOT, "requirements-page.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")


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
    elif "--page" in sys.argv:
        page()
    elif len(sys.argv) == 1 and current() != wanted():
        create()


if __name__ == "__main__":
    main()
