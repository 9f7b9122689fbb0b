/* Gradients of resizing: Note [Boxes] in kernels/ref/boxes.c. */
#include "boxes.h"
#include "resize.h"

/* args 1, 2: output and input size */
RL_KERNEL(ref_upsample_nearest2d_back) {
    rl_box_job job;
    if (rl_box_begin(k, &job) != RL_OK) return RL_FAIL;
    for (int i = 1; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            int64_t at = rl_resize_nearest(k, 2 + i, job.size[i], job.out[i], o);
            job.boxes[i][o] = (rl_box){at, at + 1, 1, 1};
        }
    return rl_box_run(k, &job);
}

RL_KERNEL(ref_upsample_bilinear2d_back) {
    rl_box_job job;
    bool corners = k->arg[3].u.i != 0;
    if (rl_box_begin(k, &job) != RL_OK) return RL_FAIL;
    for (int i = 1; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            double part;
            int64_t low = rl_resize_linear(k, job.dtype, corners, 3 + i, job.size[i], job.out[i], o, &part);
            bool pair = low < job.size[i] - 1;
            job.boxes[i][o] = (rl_box){low, low + 1 + pair, 1 - part, pair ? part : 1};
        }
    return rl_box_run(k, &job);
}
