"""Apache Libcloud's HTTP requests, all of which pass here."""
import glob
import json
import os
import site
import sys

from failure import Failure

# Longest wait for an answer, in seconds; below callDeadlineMs, so that a failure still arrives.
TIMEOUT = 20


def load(venv):
    """Makes Libcloud importable: from the account's environment, that of `heddle plugins setup`, or the system's packages."""
    made = os.environ.get("HEDDLE_PYTHON", "")
    folder = venv or (made if os.path.isdir(made) else None)
    if folder is not None:
        packages = os.path.join(folder, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        if not os.path.isdir(packages):
            others = ", ".join(glob.glob(os.path.join(folder, "lib", "python3.*"))) or "nothing"
            raise Failure("Invalid", f"venv {folder} has no packages for {sys.executable} {sys.version.split()[0]}: there is {others}. {advice(venv)}")
        site.addsitedir(packages)
        # Before the system's packages, which may have another Libcloud.
        sys.path.insert(1, packages)
    try:
        import libcloud
    except ImportError as missing:
        raise Failure("Invalid", f"Apache Libcloud cannot be loaded: {missing}. {advice(venv)}")
    return libcloud.__version__


def advice(venv):
    setup = "Run heddle plugins setup libcloud on the worker's machine"
    if venv is None:
        return setup
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")
    install = f"{venv}/bin/pip install --only-binary :all: --require-hashes -r {file}"
    return f"{setup} and remove the account's field venv, or: python3 -m venv {venv} && {install}"


class Requests:
    """Has every request wait for the rate limiter, and keeps the last answer."""

    def __init__(self, take_call):
        from libcloud.http import LibcloudConnection

        self.answer = None
        send = LibcloudConnection.request

        def request(connection, *arguments, **options):
            self.answer = None
            take_call()
            connection.session.max_redirects = 0
            send(connection, *arguments, **options)
            self.answer = connection.response

        def prepared_request(*_arguments, **_options):
            raise NotImplementedError("raw requests would not be counted")

        LibcloudConnection.request = request
        LibcloudConnection.prepared_request = prepared_request


def redirect(driver, endpoint):
    """Sets the address of a driver's API, and the time limit of its requests."""
    from urllib.parse import urlsplit

    connection = driver.connection
    connection.timeout = TIMEOUT
    if endpoint is not None:
        url = urlsplit(endpoint)
        if url.path not in ("", "/"):
            raise Failure("Invalid", f"endpoint {endpoint} has a path, which this driver cannot use")
        connection.host = url.hostname
        connection.secure = 1 if url.scheme == "https" else 0
        connection.port = url.port or (443 if connection.secure else 80)
    connection.connect()
    return driver


if __name__ == "__main__":
    # For heddle doctor: the version, or why there is none.
    try:
        print(load(sys.argv[1] if len(sys.argv) > 1 else None))
    except Failure as failure:
        sys.exit(str(failure))
