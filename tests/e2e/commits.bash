# shellcheck shell=bash
# Commits that tests make, and their builds, which copy Debian's kernels from the lab's store. Load common too.

# An author for commits, and none of the user's settings of git.
git_setup() {
    export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x \
        GIT_COMMITTER_EMAIL=x@example.org GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
}

# Sets CACHE, an empty cache with the fetched packages, and BUILD, for --build: it takes the kernel of the set whose name
# is in the file `kernel` of a commit.
# shellcheck disable=SC2034
commits_setup() {
    git_setup
    CACHE=$BATS_TEST_TMPDIR/cache
    mkdir "$CACHE"
    ln -s "$LAB_STORE/sets" "$CACHE/sets"
    # Expanded by the shell that runs the build.
    # shellcheck disable=SC2016
    BUILD='test -d "$LAB_STORE/sets/$(cat kernel)/root" || { echo "error: no $(cat kernel)"; exit 2; }
        cp "$LAB_STORE/sets/$(cat kernel)"/root/boot/vmlinuz-* "$WORLDSWITCH_OUT/bzImage"
        find "$LAB_STORE/sets/$(cat kernel)/root" -name "*.ko" -exec cp {} "$WORLDSWITCH_OUT" \;'
}
