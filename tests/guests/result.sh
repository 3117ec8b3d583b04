# shellcheck shell=dash
# Sourced by the first process of a Linux in which worldswitch measures (tests/svm, tests/vmx).

# result FILE: sends its text over the serial line, for `sent` (tests/e2e/common.bash).
result() {
    echo "=== $1"
    gzip -9c "$1" | base64
    echo '=== end'
}
