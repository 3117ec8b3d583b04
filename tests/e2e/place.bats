# `worldswitch place`: a host and its VM at work on chosen CPUs. What is measured here is only that it works.

# `run` sets $output and $status.
# shellcheck disable=SC2154

# bats file_tags=live

load common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages --newest linux
}

setup() { common_setup; }

@test "two placements of one kind, alone and together" {
    ws place --on qemu-tcg --kind cpu --cells 2 -o out --export-json place.json >table.txt 2>said.txt
    cat said.txt table.txt
    grep -q 'of cpu: .* on a quiet host' said.txt
    cells=$(($(nproc) > 1 ? 2 : 1))
    [ "$(jq -r '.kinds | length' place.json)" = 1 ]
    [ "$(jq -r '.kinds[0].cells | length' place.json)" = "$cells" ]
    [ "$(jq -r '[.kinds[0].cells[] | .alone, .both | .host_per_s > 0 and .guest_per_s > 0] | all' place.json)" = true ]
    [ "$(jq -r '[.kinds[0].cells[] | .host_kept > 0 and .guest_kept > 0] | all' place.json)" = true ]
    ws compare --all out out | grep -q place-cpu-host-both
    ws place --of out --export-markdown - | grep -q '^### cpu on qemu-tcg'
}

@test "what can't be is said" {
    run -2 ws place --on host
    [[ "$output" == *'choose qemu-kvm or qemu-tcg'* ]]
    run -2 ws place --on qemu-tcg --kind disks
    [[ "$output" == *'choose of net-self'* ]]
}
