from tests.pages.conftest import chromium  # noqa: F401
