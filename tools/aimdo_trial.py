#!/usr/bin/env python3
"""The trial of docs/aimdo-on-trial.md: comfy-aimdo's wheels, static loading and Tidegate on the simulated card.

    tools/aimdo_trial.py [--seeds N] [--passes P] [--card NAME] [--build DIR] [--out FILE] [--check-broker]
    tools/aimdo_trial.py --windows build-mingw ...  the Windows wheels and the host for Windows, under Wine

Fetches the wheels from PyPI into a throwaway folder, runs each contestant over seeds 1..N through the main workflow,
prints a table and writes all figures as JSON. Everything it prints is modelled by the simulated card, or counted there.
--check-broker first runs one pass of each library behind the broker too and compares: the run must be the same.
Exits with 77 where PyPI cannot be reached, 1 where a run failed or differed.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / "examples/workflows/ltxav-zimage-lumina2.json"
VERSIONS = ("0.4.15", "0.5.3", "0.6.0")
RUN_SECONDS = 600

# What the table shows: a title, and where the figure stands in the card's counts.
CALLS = {
    "creates": "mem_create",
    "maps": "mem_map",
    "unmaps": "mem_unmap",
    "releases": "mem_release",
    "address ranges reserved": "mem_address_reserve",
    "context synchronises": "ctx_synchronize",
    "stream synchronises": "stream_synchronize",
    "cuMemAllocAsync": "mem_alloc_async",
    "cuMemHostRegister": "mem_host_register",
}
COUNTS = {
    "maps at used addresses": "maps_at_used_addresses",
    "GiB mapped at used addresses": "bytes_mapped_at_used_addresses",
    "GiB copied to the card": "bytes_to_card",
    "600s": "not_ready",
}
BYTES = ("GiB mapped at used addresses", "GiB copied to the card")


def fetch(folder, version, windows):
    """The native library of one version; nothing is installed."""
    target = Path(folder) / version
    library = "comfy_aimdo/aimdo." + ("dll" if windows else "so")
    platform = ["--platform", "win_amd64", "--only-binary=:all:"] if windows else []
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--retries", "1", "--timeout", "20", "-d", str(target)] + platform + ["comfy-aimdo==" + version]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print("aimdo_trial: SKIPPED: comfy-aimdo %s cannot be fetched: %s" % (version, done.stderr.strip()[-200:]))
        sys.exit(77)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(library, target)
    return str(target / library)


class Wine:
    """A throwaway prefix in which our DLLs stand in the driver's place."""

    PROGRAMS = ("/usr/lib/wine/wine64", "wine64", "wine")

    def __init__(self, folder, build):
        self.program = next((name for name in self.PROGRAMS if shutil.which(name)), None)
        if self.program is None:
            print("aimdo_trial: SKIPPED: there is no Wine (tools/deps.sh windows)")
            sys.exit(77)
        self.host = str(build / "bin/bench/aimdo_host.exe")
        self.environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
        self.environment.update(WINEPREFIX=os.path.join(folder, "wine"), WINEDEBUG="-all", XDG_RUNTIME_DIR=folder,
                                WINEDLLOVERRIDES="dxgi,dxcore=n,b")
        subprocess.run([self.program, "wineboot", "-i"], env=self.environment, capture_output=True, timeout=RUN_SECONDS)
        system = Path(folder) / "wine/drive_c/windows/system32"
        for name in ("nvcuda.dll", "nvml.dll", "dxgi.dll", "dxcore.dll"):
            (system / name).unlink(missing_ok=True)  # Wine's own, a link to what it installed
            shutil.copyfile(build / "bin/front" / name, system / name)

    @staticmethod
    def path(path):
        return "Z:" + str(Path(path).resolve())

    def end(self):
        for server in ("/usr/lib/wine/wineserver64", "wineserver"):
            if shutil.which(server):
                subprocess.run([server, "-k"], env=self.environment, capture_output=True)
                break


def command_of(options, contestant, seed, hazards, passes, broker=False):
    if options.wine and contestant["library"]:
        path = options.wine.path
        return [options.wine.program, options.wine.host, path(contestant["library"]), "--workflow", path(WORKFLOW),
                "--passes", str(passes)] + contestant["more"]
    host = str(options.build / "bin/bench/aimdo_host")
    workload = ["--workflow", str(WORKFLOW), "--passes", str(passes)] + contestant["more"]
    if contestant["library"]:
        tidegate = str(options.build / "bin/tidegate")
        exec_ = [tidegate, "sim", "exec", "--card", options.card, "--tags", "--seed", str(seed), "--hazards", hazards]
        return exec_ + ([] if broker else ["--in-process"]) + ["--", host, contestant["library"]] + workload
    return [host, contestant["name"], "--simulate", options.card, "--seed", str(seed), "--hazards", hazards] + workload


def run(options, contestant, seed, passes, broker=False):
    """One run: what the contestant said, what the card found."""
    with tempfile.TemporaryDirectory() as folder:
        hazards = os.path.join(folder, "hazards.json")
        command = command_of(options, contestant, seed, hazards, passes, broker)
        environment = None
        if options.wine and contestant["library"]:
            environment = dict(options.wine.environment, TIDEGATE_CARD=options.card, TIDEGATE_SIM_SEED=str(seed),
                               TIDEGATE_SIM_TIME="virtual", TIDEGATE_SIM_TAGS="1",
                               TIDEGATE_SIM_HAZARDS=options.wine.path(hazards))
        done = subprocess.run(["timeout", "-s", "KILL", str(RUN_SECONDS)] + command, env=environment,
                              capture_output=True, text=True)
        if done.returncode != 0:
            print("aimdo_trial: %s, seed %d: exit code %d: %s\n  %s" % (
                contestant["title"], seed, done.returncode, done.stderr.strip()[-500:], " ".join(command)))
            sys.exit(1)
        with open(hazards) as file:
            found = json.load(file)
    said = json.loads(done.stdout.splitlines()[-1])
    del found["hits"]
    return {"seed": seed, "said": said, "found": found}


def figure(row, title):
    if title in CALLS:
        return row["found"]["calls"].get(CALLS[title], 0)
    value = row["found"]["counts"][COUNTS[title]]
    return value / 2**30 if title in BYTES else value


def spread(values):
    low, middle, high = min(values), statistics.median(values), max(values)
    shape = "%.1f" if any(isinstance(value, float) and value != int(value) for value in values) else "%d"
    texts = [shape % value for value in (low, middle, high)]
    return texts[1] if texts[0] == texts[2] else "%s (%s-%s)" % (texts[1], texts[0], texts[2])


def rules_of(results):
    rules = set()
    for result in results:
        for row in result["rows"]:
            rules |= set(row["found"]["hit_counts"]) | set(row["found"]["exposures"])
    return sorted(rules, key=lambda rule: (rule[:2] != "H-", int(rule[2:]) if rule[2:].isdigit() else 0, rule))


def table(results):
    lines = [["per run"] + [result["title"] for result in results]]
    for title in list(CALLS) + list(COUNTS):
        lines.append([title] + [spread([figure(row, title) for row in result["rows"]]) for result in results])
    lines.append(["seconds of the card's time"] +
                 [spread([row["said"]["card_seconds"] for row in result["rows"]]) for result in results])
    for method in sorted({key for result in results for row in result["rows"] for key in row["said"]["log_lines"]
                          if key.startswith("decided by ")}):
        lines.append(["looks " + method] + [spread([row["said"]["log_lines"].get(method, 0) for row in result["rows"]])
                                            for result in results])
    lines.append(["nodes that failed, of %d" % results[0]["rows"][0]["said"]["nodes"]] +
                 [spread([row["said"]["nodes_that_failed"] for row in result["rows"]]) for result in results])
    for rule in rules_of(results):
        lines.append([rule + " hits"] + [spread([row["found"]["hit_counts"].get(rule, 0) for row in result["rows"]])
                                         for result in results])
        seeds = [sum(1 for row in result["rows"] if row["found"]["hit_counts"].get(rule, 0)) for result in results]
        lines.append([rule + ", seeds with a hit"] +
                     ["%d of %d" % (count, len(result["rows"])) for count, result in zip(seeds, results)])
        lines.append([rule + " exposures"] + [spread([row["found"]["exposures"].get(rule, 0) for row in result["rows"]])
                                              for result in results])
    text = ""
    for index, line in enumerate(lines):
        text += "| " + " | ".join(line) + " |\n"
        if index == 0:
            text += "|" + "---|" * len(line) + "\n"
    return text


def check_broker(options, contestants):
    for contestant in contestants:
        if not contestant["library"]:
            continue
        own, behind = run(options, contestant, 1, 1), run(options, contestant, 1, 1, broker=True)
        same = own == behind
        print("aimdo_trial: %s, one pass: the run behind the broker is %s" % (
            contestant["title"], "the same" if same else "ANOTHER"))
        if not same:
            sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--passes", type=int, default=0, help="at most so many of each step; 0: all")
    parser.add_argument("--card", default="rtx3050-6g-wddm")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--windows", type=Path, metavar="BUILD", help="the mingw build: Windows wheels, under Wine")
    parser.add_argument("--check-broker", action="store_true")
    options = parser.parse_args()
    options.build = options.build.resolve()
    name = "aimdo-trial-windows" if options.windows else "aimdo-trial"
    out = options.out or ROOT / ("bench/results/%s-%s.json" % (datetime.date.today().isoformat(), name))

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options.wine = Wine(folder, options.windows.resolve()) if options.windows else None
        contestants = []
        for version in VERSIONS:
            library = fetch(folder, version, bool(options.windows))
            contestants.append({"title": "aimdo " + version, "name": version, "library": library, "more": []})
            if version != VERSIONS[0]:
                contestants.append({"title": "aimdo %s, no recorder" % version, "name": version + "-no-graph",
                                    "library": library, "more": ["--no-graph"]})
        for name, title in () if options.windows else (("static", "static loading (stand-in)"), ("tidegate", "Tidegate")):
            contestants.append({"title": title, "name": name, "library": None, "more": []})
        if options.check_broker:
            check_broker(options, contestants)
        results = []
        with ThreadPoolExecutor(max_workers=2) as pool:
            for contestant in contestants:
                rows = list(pool.map(lambda seed: run(options, contestant, seed, options.passes),
                                     range(1, options.seeds + 1)))
                for row in rows:
                    row["said"]["contestant"] = contestant["name"]
                results.append({"title": contestant["title"], "rows": rows})
                print("aimdo_trial: %s: %d seeds" % (contestant["title"], len(rows)), file=sys.stderr)
        if options.wine:
            options.wine.end()
    print(table(results))
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    document = {"what": "tools/aimdo_trial.py: modelled by the simulated card, counted there", "card": options.card,
                "workflow": WORKFLOW.name, "passes": options.passes, "seeds": options.seeds,
                "commit": commit.stdout.strip(), "table": table(results).splitlines(), "results": results}
    out.write_text(json.dumps(document) + "\n")
    print("aimdo_trial: " + str(out))


if __name__ == "__main__":
    main()
