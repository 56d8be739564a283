// Signals: what all algorithms share. RANKS ranks, each with an input, an output and a sheet of signals that the others write to.
//
// Rank s tells rank r how far its block b has come by storing a number in word b * RANKS + s of r's sheet. Numbers only grow, from
// call to call too, so nothing is ever reset; they are compared around the end of 32 bits. Block b of a rank waits for block b of
// others only: all ranks launch the same grid, no larger than what runs at once, or a block would wait for one that cannot start.
// A wait ends after `patience` nanoseconds in any case and leaves a mark; the host reads it.

struct __align__(16) Pack {
    unsigned word[4];
};

struct Group {
    const Pack* in[RANKS];
    Pack* out[RANKS];
    unsigned* signals[RANKS];
    unsigned* failed[RANKS];
};

__device__ __forceinline__ void wait_for(const unsigned* signal, unsigned value, unsigned* failed, unsigned long long patience) {
    unsigned long long begin = 0;
    for (unsigned tries = 1; (int)(load_acquire(signal) - value) < 0; ++tries) {
        if (tries % 64 != 0) continue;
        const unsigned long long now = nanoseconds();
        begin = begin == 0 ? now : begin;
        if (load_acquire(failed) != 0 || now - begin > patience) {
            store_release(failed, 1);
            return;
        }
    }
}

// This block's share of the work so far is done, and that of the same block on every rank.
__device__ __forceinline__ void meet(const Group& group, int rank, unsigned value, unsigned long long patience) {
    __syncthreads();
    const unsigned peer = threadIdx.x;
    if (peer < RANKS) {
        store_release(group.signals[peer] + blockIdx.x * RANKS + rank, value);
        wait_for(group.signals[rank] + blockIdx.x * RANKS + peer, value, group.failed[rank], patience);
    }
    __syncthreads();
}

// Packs of 16 bytes: 4 values of fp32 or 8 of bf16. Sums are fp32 either way.

#if BF16
typedef unsigned short Element;
#else
typedef unsigned Element;
#endif
#define PER_PACK (16 / sizeof(Element))

struct Sum {
    float value[PER_PACK];
};

__device__ __forceinline__ unsigned long long packs_of(unsigned long long count) { return (count + PER_PACK - 1) / PER_PACK; }

// GUARD 1: any count, the last pack may be a part of one; GUARD 0: whole packs only.
__device__ __forceinline__ Pack load(const Pack* from, unsigned long long i, unsigned long long count) {
#if GUARD
    if ((i + 1) * PER_PACK > count) {
        Pack part = {{0, 0, 0, 0}};
        const Element* values = (const Element*)from + i * PER_PACK;
#pragma unroll
        for (int k = 0; k < PER_PACK; ++k)
            if (i * PER_PACK + k < count) part.word[k * sizeof(Element) / 4] |= (unsigned)values[k] << k * sizeof(Element) % 4 * 8;
        return part;
    }
#endif
    return from[i];
}

__device__ __forceinline__ void store(Pack* to, unsigned long long i, unsigned long long count, Pack pack) {
#if GUARD
    if ((i + 1) * PER_PACK > count) {
        Element* values = (Element*)to + i * PER_PACK;
#pragma unroll
        for (int k = 0; k < PER_PACK; ++k)
            if (i * PER_PACK + k < count) values[k] = (Element)(pack.word[k * sizeof(Element) / 4] >> k * sizeof(Element) % 4 * 8);
        return;
    }
#endif
    to[i] = pack;
}

__device__ __forceinline__ Sum widen(Pack pack) {
    Sum sum;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
#if BF16
        sum.value[2 * w] = __uint_as_float(pack.word[w] << 16);
        sum.value[2 * w + 1] = __uint_as_float(pack.word[w] & 0xffff0000u);
#else
        sum.value[w] = __uint_as_float(pack.word[w]);
#endif
    }
    return sum;
}

// bf16 is the upper half of fp32, rounded to nearest, ties to even; NaN stays NaN.
__device__ __forceinline__ unsigned narrow(float value) {
    const unsigned bits = __float_as_uint(value);
    return value != value ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

__device__ __forceinline__ Pack pack_of(Sum sum) {
    Pack pack;
#pragma unroll
    for (int w = 0; w < 4; ++w)
#if BF16
        pack.word[w] = narrow(sum.value[2 * w]) | narrow(sum.value[2 * w + 1]) << 16;
#else
        pack.word[w] = __float_as_uint(sum.value[w]);
#endif
    return pack;
}

__device__ __forceinline__ void add(Sum& sum, Pack pack) {
    const Sum more = widen(pack);
#pragma unroll
    for (int k = 0; k < PER_PACK; ++k) sum.value[k] += more.value[k];
}

// One pack of all ranks' inputs added up, always from rank 0 on: every rank gets the same bits. All loads are on their way before
// the first is added.
__device__ __forceinline__ Pack sum_of_all(const Group& group, unsigned long long i, unsigned long long count) {
    Pack pack[RANKS];
#pragma unroll
    for (int r = 0; r < RANKS; ++r) pack[r] = load(group.in[r], i, count);
    Sum sum = widen(pack[0]);
#pragma unroll
    for (int r = 1; r < RANKS; ++r) add(sum, pack[r]);
    return pack_of(sum);
}
