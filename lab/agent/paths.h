/* Files of the agent. */
#pragma once

#define CONFIG_FILE   "/init.conf"	 /* in the initramfs, which the root has as /lab */
#define LAUNCH_FILE   "/lab/launch.conf" /* of a launch, where the lab does not stop the machine */
#define FILES_FOLDER  "/lab/workloads"
#define ENTERED	      "WS_ENTERED" /* a variable: host/enter.c has made the root, and /lab */
#define MARKS	      "/tmp/marks" /* the host's side of the guest's second serial port: .in and .out */
#define GUEST_CONSOLE "/tmp/guest.log"
#define GUEST_OUTPUT  "/run/guest.out" /* what the program that runs the guest says */
#define RUN_OUTPUT    "/tmp/out"       /* of run=, for proof= */
#define STEP_OUTPUT   "/run/step.out"  /* of the other commands of a workload */
#define STATISTICS    "/sys/kernel/debug/kvm"
#define TRACING	      "/sys/kernel/tracing"
