// Linux first, but in one file: reads src/ and include/ and fails when a header, a call or a constant that only Linux (or its C library) has
// appears anywhere but in base/os_linux.c. What POSIX has may be used everywhere; what else is needed gets a function in base/os.h.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const LINUX = "src/base/os_linux.c";
const HEADERS =
    /^(linux\/.*|sys\/(epoll|eventfd|signalfd|timerfd|inotify|fanotify|random|prctl|sendfile|syscall|sysinfo|auxv|vfs|xattr|capability)\.h|endian\.h|byteswap\.h|malloc\.h|features\.h|sched\.h)$/;
const CALLS =
    /\b(accept4|pipe2|dup3|getrandom|epoll_\w+|eventfd|signalfd|timerfd_\w+|inotify_\w+|prctl|gettid|syscall|sendmmsg|recvmmsg|splice|vmsplice|sendfile|memfd_create|malloc_usable_size|malloc_trim|mallopt|mallinfo2?|[bl]e(16|32|64)toh|hto[bl]e(16|32|64)|qsort_r|sched_\w+|pthread_(set|get)(name|affinity)_np|copy_file_range|fallocate|sync_file_range|syncfs|statx|secure_getenv|mremap|close_range|getauxval|process_vm_\w+|pidfd_\w+)\s*\(/g;
const WORDS =
    /\b(SOCK_CLOEXEC|SOCK_NONBLOCK|SO_PEERCRED|SO_REUSEPORT|SO_INCOMING_CPU|SO_BUSY_POLL|MSG_CMSG_CLOEXEC|MSG_ZEROCOPY|MSG_MORE|MSG_ERRQUEUE|EPOLL\w+|O_TMPFILE|O_PATH|O_DIRECT|F_OFD_\w+|F_SETPIPE_SZ|MADV_\w+|MREMAP_\w+|TCP_CORK|TCP_QUICKACK|TCP_DEFER_ACCEPT|TCP_FASTOPEN|RENAME_NOREPLACE|__linux__|__GLIBC__|__gnu_linux__)\b/g;
const PATHS = /"\/(proc|sys)\//g;

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

// Comments may speak of what they like; lines stay where they are.
const codeOf = (text) => text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (comment) => comment.replace(/[^\n]/g, " "));

function foundIn(path) {
    const found = [];
    codeOf(readFileSync(path, "utf8"))
        .split("\n")
        .forEach((line, i) => {
            const header = /^\s*#\s*include\s+<([^>]+)>/.exec(line)?.[1];
            const names = header ? [header].filter((name) => HEADERS.test(name)) : [CALLS, WORDS, PATHS].flatMap((what) => line.match(what) ?? []);
            for (const name of names) found.push(`${relative(root, path)}:${i + 1}: ${name.replace(/\s*\($/, "()")}`);
        });
    return found;
}

const files = ["src", "include"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
        .filter((name) => /\.(c|h|hpp)$/.test(name))
        .map((name) => join(folder, name)),
);
const wrong = files.filter((name) => name !== LINUX).flatMap((name) => foundIn(join(root, name)));
const there = foundIn(join(root, LINUX)).length;

for (const line of wrong) console.error(`${line} is there on Linux only: put it into ${LINUX}, behind base/os.h, with a plain way in os_plain.c`);
if (there < 5) console.error(`only ${there} such things were found in ${LINUX}: the test looks for the wrong ones`);
console.log(`${files.length} files, ${wrong.length} that need Linux beside ${LINUX}`);
process.exit(wrong.length || there < 5 ? 1 : 0);
