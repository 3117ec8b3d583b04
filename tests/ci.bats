# Tests of ci/: the job of a change, with stand-ins for the set-up, the build, worldswitch and curl.

# Backquotes are those of Markdown.
# shellcheck disable=SC2016

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p source/{ci,tools,lab} bin linux
    cp "$BATS_TEST_DIRNAME"/../ci/{test-change,comment} source/ci
    echo pins >source/lab/lock.toml
    export CALLS=$PWD/calls HOME=$PWD XDG_CACHE_HOME=$PWD/cache PATH=$PWD/bin:$PATH RESULTS=$PWD/results
    unset GITHUB_REPOSITORY CHANGE CI_MERGE_REQUEST_IID WORLDSWITCH_TOKEN ON
    program source/tools/setup 'echo "setup $*" >>"$CALLS"'
    # The build has a worldswitch that notes its words, and writes a comment if it is told to.
    cat >source/Makefile <<'END'
build:
	echo build >>"$$CALLS"
install:
	mkdir -p "$(PREFIX)/bin" && cp worldswitch "$(PREFIX)/bin"
END
    program source/worldswitch 'echo "$*" >>"$CALLS"
[ "$1" = test ] || exit 0
[ -z "${COMMENT-}" ] || echo "$COMMENT" >"$RESULTS.md"
exit "${CODE-0}"'
    git -C linux init -q -b main
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git -C linux commit -q --allow-empty -m one
    git -C linux commit -q --allow-empty -m two
    base=$(git -C linux rev-parse HEAD^) head=$(git -C linux rev-parse HEAD)
}

# program FILE TEXT: makes a shell script.
program() {
    printf '#!/bin/bash\n%s\n' "$2" >"$1"
    chmod +x "$1"
}

# service: a curl that keeps comments in comments/ID as JSON, and notes each call. New ones have the id 7.
service() {
    mkdir -p comments
    program bin/curl 'body=$(cat)
while [ $# -gt 0 ]; do
    case $1 in
    -X) method=$2; shift ;;
    -H) echo "$2" >>headers; shift ;;
    http*) url=$1 ;;
    esac
    shift
done
echo "$method $url" >>"$CALLS"
case $method in
GET) if [[ $url == *page=1 ]]; then cat comments/* /dev/null | jq -s .; else echo "[]"; fi ;;
POST) jq ". + {id: 7}" <<<"$body" >comments/7 ;;
PATCH | PUT) jq ". + {id: 7}" <<<"$body" >comments/7 ;;
DELETE) rm comments/7 ;;
esac'
}

github() {
    service
    export GITHUB_REPOSITORY=o/linux GITHUB_API_URL=https://api GITHUB_TOKEN=secret CHANGE=3
}

@test "a job builds worldswitch once, fetches, tests, and ends with the test's exit code" {
    run -3 env CODE=3 COMMENT=worse ON=lab:kvm,lab:kvm-vhe source/ci/test-change -C linux HEAD^ HEAD --all
    [[ $output == *worse* ]]
    cat calls
    diff calls - <<END
setup ci
setup run
build
lab fetch --newest lab:kvm lab:kvm-vhe
test $base $head --kernel-tree linux --on lab:kvm,lab:kvm-vhe -o $RESULTS --force --comment $RESULTS.md --all
END
    : >calls
    run -0 source/ci/test-change -C linux HEAD^ HEAD
    run ! grep -qx build calls
    # Another source is another key.
    before=$(source/ci/test-change keys)
    echo more >>source/tools/setup
    after=$(source/ci/test-change keys)
    [ "$(grep command= <<<"$before")" != "$(grep command= <<<"$after")" ]
    [ "$(grep packages= <<<"$before")" = "$(grep packages= <<<"$after")" ]
}

@test "a commit that a shallow clone lacks is fetched, and one that nobody has is an error" {
    git clone -q --depth 1 "file://$PWD/linux" shallow
    run -0 source/ci/test-change -C shallow "$base" HEAD
    grep -q "^test $base $head " calls
    run -128 source/ci/test-change -C shallow no-such-commit HEAD
    [[ $output == *no-such-commit* ]]
    run -2 source/ci/test-change HEAD
    [[ $output == *'ci/test-change'* ]]
}

@test "GitHub: one comment, which each job replaces and a job without a change removes" {
    github
    echo '{"id": 5, "body": "of somebody"}' >comments/5
    echo 'cpuid: `svm_handle_exit` "+2"' >results.md
    source/ci/comment results.md
    grep -qx 'POST https://api/repos/o/linux/issues/3/comments' calls
    grep -qx 'Authorization: Bearer secret' headers
    [ "$(jq -r .body comments/7)" = $'<!-- worldswitch test -->\ncpuid: `svm_handle_exit` "+2"' ]
    echo other >results.md
    source/ci/comment results.md
    grep -qx 'PATCH https://api/repos/o/linux/issues/comments/7' calls
    [[ $(jq -r .body comments/7) == *other ]]
    rm results.md
    source/ci/comment results.md
    [ ! -e comments/7 ]
    [ -e comments/5 ]
    source/ci/comment results.md
}

@test "GitLab: a note of the merge request" {
    service
    export CI_API_V4_URL=https://lab/api CI_PROJECT_ID=9 CI_MERGE_REQUEST_IID=4 WORLDSWITCH_TOKEN=secret
    echo worse >results.md
    source/ci/comment results.md
    grep -qx 'POST https://lab/api/projects/9/merge_requests/4/notes' calls
    grep -qx 'PRIVATE-TOKEN: secret' headers
    source/ci/comment results.md
    grep -qx 'PUT https://lab/api/projects/9/merge_requests/4/notes/7' calls
    # Without a token the job's log has it.
    unset WORLDSWITCH_TOKEN
    [ "$(source/ci/comment results.md)" = worse ]
}

@test "a comment that the service refuses, as for a fork, is in the log, and the test's exit code stays" {
    github
    program bin/curl 'echo "curl: (22) 403" >&2; exit 22'
    run -22 source/ci/comment results.md
    run -0 source/ci/test-change -C linux HEAD^ HEAD
    [[ $output == *403*'the service refused the comment'* ]]
    run -3 env CODE=3 COMMENT=worse source/ci/test-change -C linux HEAD^ HEAD
    [[ $output == *403*'the service refused the comment'*worse* ]]
}
