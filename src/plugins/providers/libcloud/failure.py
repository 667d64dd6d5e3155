"""Failures of the task, and what an error of Libcloud means for it."""
import re


class Failure(Exception):
    """Fails the task. The kind determines the engine's reaction; see docs/reference/plugins/contract.md."""

    def __init__(self, kind, message, retry_after_ms=None):
        super().__init__(message)
        self.error = {"kind": kind, "message": message[:2000]}
        if retry_after_ms is not None:
            self.error["retryAfterMs"] = retry_after_ms


# Reasons in answers of the APIs, by the kind that they mean; they go before the status.
REASONS = [
    ("Capacity", r"Insufficient\w*Capacity|No valid host|not enough (?:hosts|capacity)|no more IP addresses|out of capacity"),
    ("Quota", r"InstanceLimitExceeded|VcpuLimitExceeded|quota|droplet limit"),
    ("Retryable", r"RequestLimitExceeded|Throttling|pending event|while it is in task_state"),
]


def failure_of(error, answer, what):
    """
    The failure that an exception means. Libcloud raises many types, also plain ones, so the status of the last
    answer decides; `answer` is None before any came.
    """
    if isinstance(error, Failure):
        return error
    said = words_of(error)
    message = f"{what}: {said}"
    # Exceptions of Python's HTTP library are of this type, too.
    if isinstance(error, OSError):
        return Failure("Retryable", f"{message} (the API did not answer)")
    if answer is None:
        return Failure("Invalid", f"{message} ({type(error).__name__}, before any request)")
    status = answer.status_code
    retry_after = retry_after_ms(answer.headers.get("retry-after", ""))
    if status == 401:
        return Failure("Auth", f"{message} (status 401: the credentials are refused)")
    if status >= 400:
        for kind, reason in REASONS:
            if re.search(reason, said, re.IGNORECASE):
                return Failure(kind, f"{message} (status {status})", retry_after)
    if status == 429 or status >= 500:
        return Failure("Retryable", f"{message} (status {status})", retry_after)
    if status == 403:
        return Failure("Auth", f"{message} (status 403: the credentials lack a permission)")
    if status >= 300:
        return Failure("Invalid", f"{message} (status {status})")
    return Failure("Retryable", f"{what}: the API answered with status {status} what its driver cannot read: {type(error).__name__}: {said}. Is the endpoint right?")


def words_of(error):
    """What an exception says. Some of Libcloud's hold a whole document, which Python refuses to print as theirs."""
    message = getattr(error, "message", None)
    said = message if isinstance(message, dict) else error
    return str(said) or type(error).__name__


def is_missing(error):
    """Whether an API has no such resource, in its own words: a 404 of a proxy has others."""
    from libcloud.common.exceptions import BaseHTTPError

    return isinstance(error, BaseHTTPError) and error.code == 404 and "could not be found" in words_of(error)


def retry_after_ms(text):
    return int(text) * 1000 if re.fullmatch(r"\d{1,6}", text) else None
