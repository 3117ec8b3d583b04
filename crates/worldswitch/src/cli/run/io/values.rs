//! Parsers of option values: experiments, disks, ways to detect replies.

use crate::cli::values::one_of;
use clap::builder::TypedValueParser;
use ws_io::client::Replies;
use ws_io::experiments::Experiment;
use ws_io::server::Disk;

/// Parses an experiment.
pub fn experiment() -> impl TypedValueParser<Value = Experiment> {
    one_of(&[
        (
            Experiment::Scaling,
            &["scaling", "fig6"],
            "Figure 6: throughput and latency of 1 to 14 devices, with four readers and four writers on each",
        ),
        (
            Experiment::Mixed,
            &["mixed", "fig7"],
            "Figure 7: seven devices, 1 to 6 of them with 32 outstanding requests, the others with one",
        ),
        (
            Experiment::Ablation,
            &["ablation", "fig8"],
            "Figure 8: the gain from fine-grained scheduling and the gain from polling, with 1 to 7 devices",
        ),
        (
            Experiment::Stuck,
            &["stuck"],
            "One device with 32 outstanding requests next to six with one, on an overloaded I/O core, with the stuck-queue rule \
             on and off",
        ),
        (
            Experiment::Shares,
            &["shares"],
            "Fourteen devices of equal weight, then three of weights 1, 2 and 4, on an overloaded I/O core",
        ),
        (
            Experiment::Integrity,
            &["integrity"],
            "Fourteen devices, each driven by a process that compares the data read with the data written",
        ),
        (
            Experiment::Peers,
            &["peers"],
            "elvis compared with a qemu-storage-daemon that polls. Disks: null, tmpfs, file. Devices: 1 and 4. Outstanding requests on \
             each: 1, 8, 32. Replies: eventfd and poll. One client drives all devices of a load",
        ),
        (
            Experiment::Rr,
            &["rr"],
            "1 and 4 pairs of network devices. The second device of a pair returns each frame of 64 bytes. A request is a round \
             trip",
        ),
        (
            Experiment::Stream,
            &["stream"],
            "A pair of network devices. The first sends frames of 64 and of 1514 bytes, and TCP segments of 64 KiB. A request \
             is a frame",
        ),
        (
            Experiment::MixedNet,
            &["mixed-net"],
            "A tmpfs disk with 32 outstanding requests next to an echo of frames, on one I/O core, with the stuck-queue rule on \
             and off",
        ),
    ])
}

/// Parses how clients detect replies.
pub fn replies() -> impl TypedValueParser<Value = Replies> {
    one_of(&[
        (
            Replies::Eventfd,
            &["eventfd"],
            "The server notifies clients through an eventfd",
        ),
        (Replies::Poll, &["poll"], "Clients poll memory all the time"),
    ])
}

/// Parses the type of the disks.
pub fn disk() -> impl TypedValueParser<Value = Disk> {
    one_of(&[
        (
            Disk::Null,
            &["null"],
            "No storage: the cost of the server alone",
        ),
        (
            Disk::Tmpfs,
            &["tmpfs"],
            "Files on a tmpfs. All servers use the same files",
        ),
        (
            Disk::File,
            &["file"],
            "Files in --disk-folder. All servers use the same files with O_DIRECT, which bypasses the page cache",
        ),
    ])
}
