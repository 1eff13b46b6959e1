// How long tests wait for what must happen. Nothing waits that long when all is well, on a machine however busy: only a hang reaches it.
// A whole test program has the limit of tests/meson.build.
export const PATIENCE_MS = 120_000;
