/* Finds out what /dev/kvm is by running something in it. */
#ifndef PROBE_H
#define PROBE_H

/* Writes one JSON line on standard output. Returns END_OFF where a guest runs, else END_NO_KVM. */
int probe(void);

#endif
