"""Images -> features: backbones, transforms, a cache by content."""

from vmtl.vision.backbones import BACKBONES, Backbone, load_backbone
from vmtl.vision.cache import FeatureCache, cache_folder
from vmtl.vision.extract import Extraction, extract_features
from vmtl.vision.transform import IMAGENET, LITE, BrokenImageError, Transform

__all__ = [
    "BACKBONES",
    "IMAGENET",
    "LITE",
    "Backbone",
    "BrokenImageError",
    "Extraction",
    "FeatureCache",
    "Transform",
    "cache_folder",
    "extract_features",
    "load_backbone",
]
