"""Pages as a browser sees them: headless Chromium, where it is installed."""

import json
import re
import shutil
import subprocess

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in _NAMES if (found := shutil.which(name))), None)
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000"]


def seen(page, probe, *flags):
    """What JavaScript finds in a page once it is shown, and the errors on its console.

    `probe` is an expression; its value comes back through the title of a copy of the page.
    """
    told = f"document.title = 'FOUND' + JSON.stringify({probe})"
    script = f"<script>window.addEventListener('load', () => {{ {told}; }});</script>"
    text = page.read_text(encoding="utf-8")
    copy = page.with_name(f"probed-{page.name}")
    copy.write_text(text.replace("</body>", f"{script}</body>"), encoding="utf-8")
    try:
        ran = subprocess.run(
            [CHROMIUM, *_FLAGS, *flags, "--enable-logging=stderr", "--dump-dom", copy.as_uri()],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
    finally:
        copy.unlink()
    title = re.search(r"<title>FOUND(.*?)</title>", ran.stdout, re.DOTALL)
    assert title, ran.stdout[:500]
    errors = [line for line in ran.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    return json.loads(title[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")), errors
