#!/usr/bin/env python3
"""Times `coremill lower` as a process against coremltools' conversion of the same .pt2 through the same passes.

    cargo build --release && PYTHON benches/against_peer.py [MODEL.pt2] [--runs N]

Run it with a Python that has torch and coremltools 9.0. Without coremltools it says so and times coremill alone.
The peer's time is that of the conversion only: neither the start of Python nor its imports count.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
BINARY = os.path.join(TARGET, "release", "coremill")
PIPELINE = os.path.join(ROOT, "examples", "seed_pipeline.json")


def time_coremill(model, runs):
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        command = [BINARY, "lower", model, "-o", os.path.join(folder, "out.mlpackage"),
                   "--pass-pipeline", PIPELINE, "--min-deployment-target", "ios17"]
        for _ in range(runs):
            start = time.perf_counter()
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def time_peer(model):
    import coremltools as ct
    import torch

    program = torch.export.load(model)
    start = time.perf_counter()
    pipeline = ct.PassPipeline(json.load(open(PIPELINE)), pipeline_name="seed")
    ct.convert(program.run_decompositions({}), minimum_deployment_target=ct.target.iOS17,
               compute_precision=ct.precision.FLOAT32, pass_pipeline=pipeline, skip_model_load=True)
    return time.perf_counter() - start


def time_default(model, runs):
    """Seconds of the default pipeline alone: coremill's (fastest of `runs`, as its report says), coremltools' once."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [BINARY, "lower", model, "-o", os.path.join(folder, "out.mlpackage"), "--report", report,
                   "--min-deployment-target", "ios17"]
        ours = []
        for _ in range(runs):
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            steps = [p for p in json.load(open(report))["pipelines"] if p["name"] == "default"][0]["steps"]
            ours.append(sum(s["seconds"] for s in steps))
    import coremltools as ct
    import torch
    from coremltools.converters.mil.mil.passes.pass_pipeline import PassPipelineManager

    peer, apply = [], PassPipelineManager.apply_pipeline

    def timed(prog, pipeline):
        start = time.perf_counter()
        apply(prog, pipeline)
        if str(pipeline) == "default" or getattr(pipeline, "_pipeline_name", "") == "default":
            peer.append(time.perf_counter() - start)

    PassPipelineManager.apply_pipeline = staticmethod(timed)
    program = torch.export.load(model)
    ct.convert(program.run_decompositions({}), minimum_deployment_target=ct.target.iOS17, skip_model_load=True)
    return min(ours), peer[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=os.path.join(ROOT, "examples", "crepe_tiny.pt2"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--default", action="store_true", help="time the default pipeline alone, on both sides")
    args = parser.parse_args()
    if args.default:
        ours, peer = time_default(args.model, args.runs)
        print(f"default pipeline: coremill {ours * 1e3:.2f} ms, coremltools {peer * 1e3:.0f} ms; {peer / ours:.0f} times as long")
        return
    ours = time_coremill(args.model, args.runs)
    print(f"coremill: {ours * 1e3:.1f} ms, the whole process, median of {args.runs}")
    try:
        peer = time_peer(args.model)
    except ImportError as missing:
        print(f"coremltools is not timed: {missing}")
        return
    print(f"coremltools: {peer * 1e3:.0f} ms, the conversion alone; {peer / ours:.0f} times as long")


if __name__ == "__main__":
    main()
