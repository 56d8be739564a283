// Divergence by paths: one warp whose lanes take `paths` different sides of a switch, lane t the side t % paths.
// Every side is code of its own with the same number of instructions: a chain of rounds x STEPS dependent multiply-adds with the
// side's own two coefficients. The warp's cycles are counted from before the switch until all lanes are together again; the last
// of `passes` counts, when the code has been fetched. The chain goes on from pass to pass, so that none can be left out.
//
// Three ways to the same results:
//   paths_branching   a switch: the sides that a lane takes run one after the other
//   paths_predicated  no branch: every lane goes through all SIDES sides, and only its own one counts
//   paths_selected    no branch: the two coefficients are chosen by selects, then all lanes run one chain

#define SIDES 32
#define FACTOR(side) (1.0f - ((side) + 1) / 8192.0f)
#define OFFSET(side) (0.25f + (side) / 64.0f)

#define FOUR(do, first) do((first)) do((first) + 1) do((first) + 2) do((first) + 3)
#define SIXTEEN(do, first) FOUR(do, first) FOUR(do, (first) + 4) FOUR(do, (first) + 8) FOUR(do, (first) + 12)
#define ALL(do) SIXTEEN(do, 0) SIXTEEN(do, 16)

// One way: the timed part between two reads of the SM's cycle counter, then results and cycles by lane.
#define WAY(name, body)                                                                                                       \
    extern "C" __global__ void __launch_bounds__(32) name(const float* x, float* out, int paths, int rounds, int passes,      \
                                                          long long* cycles) {                                                \
        const int path = threadIdx.x % paths;                                                                                 \
        float value = x[threadIdx.x];                                                                                         \
        long long spent = 0;                                                                                                  \
        for (int pass = 0; pass < passes; ++pass) {                                                                           \
            __syncwarp();                                                                                                     \
            const long long begin = clock64();                                                                                \
            body;                                                                                                             \
            __syncwarp();                                                                                                     \
            spent = clock64() - begin;                                                                                        \
        }                                                                                                                     \
        write(out, cycles, value, spent);                                                                                     \
    }

__device__ __forceinline__ void write(float* out, long long* cycles, float value, long long spent) {
    out[threadIdx.x] = value;
    cycles[threadIdx.x] = spent;
}

// One side, run by the lanes that take it.
__device__ __forceinline__ float run(float value, float factor, float offset, int rounds) {
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s) value = __fmaf_rn(value, factor, offset);
    }
    return value;
}

// The same side, gone through by every lane, and without effect where it is not the lane's own.
__device__ __forceinline__ float run_if(bool own, float value, float factor, float offset, int rounds) {
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s) value = own ? __fmaf_rn(value, factor, offset) : value;
    }
    return value;
}

#define BRANCH(side)                                              \
    case side:                                                    \
        value = run(value, FACTOR(side), OFFSET(side), rounds);   \
        break;
WAY(paths_branching, switch (path) { ALL(BRANCH) })

#define PREDICATE(side) value = run_if(path == (side), value, FACTOR(side), OFFSET(side), rounds);
WAY(paths_predicated, ALL(PREDICATE))

#define SELECT(side)                               \
    factor = path == (side) ? FACTOR(side) : factor; \
    offset = path == (side) ? OFFSET(side) : offset;
WAY(paths_selected, float factor = 0.0f; float offset = 0.0f; ALL(SELECT) value = run(value, factor, offset, rounds))
