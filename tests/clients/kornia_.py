"""kornia: colours, filters, geometry, losses, metrics and augmentations."""

import kornia as K
import torch
from checks import check


def image(size=8, batch=2):
    return torch.rand(batch, 3, size, size)


@check
def colours():
    x = image(4)
    to = (
        K.color.rgb_to_grayscale,
        K.color.rgb_to_hsv,
        K.color.rgb_to_lab,
        K.color.rgb_to_ycbcr,
        K.color.rgb_to_luv,
    )
    return [f(x) for f in to] + [K.color.lab_to_rgb(K.color.rgb_to_lab(x))]


@check
def blurs():
    x = image()
    return [
        K.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)),
        K.filters.box_blur(x, (3, 3)),
        K.filters.median_blur(x, (3, 3)),
        K.filters.unsharp_mask(x, (3, 3), (1.5, 1.5)),
    ]


@check
def edges():
    x = image()
    return [K.filters.sobel(x), K.filters.laplacian(x, 3), K.filters.spatial_gradient(x), *K.filters.canny(x)]


@check
def enhanced():
    x = image()
    return [
        K.enhance.adjust_brightness(x, 0.2),
        K.enhance.adjust_contrast(x, 0.7),
        K.enhance.adjust_gamma(x, 2.2),
        K.enhance.adjust_saturation(x, 1.5),
        K.enhance.normalize(x, torch.full((3,), 0.5), torch.full((3,), 0.2)),
        K.enhance.equalize(x),
        K.enhance.histogram(x[:, 0].reshape(2, -1), torch.linspace(0, 1, 4), torch.tensor(0.1)),
    ]


@check
def warped():
    x = image()
    return [
        K.geometry.rotate(x, torch.tensor([30.0, 45.0])),
        K.geometry.translate(x, torch.tensor([[1.0, 2.0], [0.0, 1.0]])),
        K.geometry.resize(x, (5, 6), antialias=True),
        K.geometry.hflip(x),
        K.geometry.pyrdown(x),
        K.geometry.warp_perspective(x, torch.eye(3).repeat(2, 1, 1), (6, 6)),
    ]


@check
def homographies():
    source = torch.tensor([[[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]]])
    target = source * 1.5 + torch.tensor([1.0, 2.0])
    found = K.geometry.get_perspective_transform(source, target)
    return [found, K.geometry.transform_points(found, source), K.geometry.find_homography_dlt(source, target)]


@check
def rotations():
    v = torch.tensor([[0.1, 0.2, 0.3]])
    matrix = K.geometry.axis_angle_to_rotation_matrix(v)
    return [
        matrix,
        K.geometry.rotation_matrix_to_quaternion(matrix),
        K.geometry.rotation_matrix_to_axis_angle(matrix),
    ]


@check
def losses():
    x, y = image().requires_grad_(), image()
    logits, target = torch.rand(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
    loss = K.losses.ssim_loss(x, y, 5) + K.losses.psnr_loss(x, y, 1.0)
    loss.backward()
    return [
        loss,
        x.grad,
        K.losses.focal_loss(logits, target, 0.5, 2.0, "mean"),
        K.losses.dice_loss(logits, target),
        K.losses.tversky_loss(logits, target, 0.5, 0.5),
        K.losses.total_variation(y),
    ]


@check
def metrics():
    x, y = image(), image()
    a, b = torch.randint(0, 3, (2, 6)), torch.randint(0, 3, (2, 6))
    return [
        K.metrics.psnr(x, y, 1.0),
        K.metrics.ssim(x, y, 5),
        K.metrics.confusion_matrix(a, b, 3),
        K.metrics.mean_iou(a, b, 3),
    ]


@check
def morphology():
    x, kernel = image(), torch.ones(3, 3)
    kinds = (K.morphology.dilation, K.morphology.erosion, K.morphology.opening, K.morphology.gradient)
    return [f(x, kernel) for f in kinds]


@check
def features():
    x = K.color.rgb_to_grayscale(image(12))
    return [K.feature.harris_response(x), K.feature.gftt_response(x), K.feature.hessian_response(x)]


@check
def augmented():
    flips = K.augmentation.AugmentationSequential(
        K.augmentation.RandomHorizontalFlip(p=1.0),
        K.augmentation.RandomVerticalFlip(p=1.0),
        data_keys=["input"],
    )
    jitter = K.augmentation.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0)
    x = image()
    return [flips(x), jitter(x), K.augmentation.RandomAffine(15.0, p=1.0)(x), K.augmentation.CenterCrop(4)(x)]
