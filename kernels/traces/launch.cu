// Launch: which SM ran each block, and when.
// The first thread of a block reads the global timer before and after the block's work and notes the SM. The work is the same for
// all: every thread runs its number through a chain of multiply-adds. Shared memory asked for at launch sets how many blocks an SM
// holds at once.

extern "C" __global__ void __launch_bounds__(256) trace_launch(float* x, int work, unsigned* sm, unsigned long long* start,
                                                               unsigned long long* end) {
    unsigned id;
    unsigned long long begin, done;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i];
    for (int w = 0; w < work; ++w) value = __fmaf_rn(value, 0.9999f, 0.5f);
    x[i] = value;
    __syncthreads();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(done)::"memory");
    if (threadIdx.x == 0) {
        sm[blockIdx.x] = id;
        start[blockIdx.x] = begin;
        end[blockIdx.x] = done;
    }
}

// The step of the global timer: one thread notes the first `count` different values that it sees.
extern "C" __global__ void timer_ticks(unsigned long long* out, int count) {
    unsigned long long last = 0, now;
    for (int i = 0; i < count;) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
        if (now != last) out[i++] = last = now;
    }
}

// Nothing at all: what a launch costs by itself.
extern "C" __global__ void empty() {}
