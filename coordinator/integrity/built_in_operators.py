"""Names of operators that every installation brings along: a workspace that registers one hides what does the work.

The names are those of the public documentation of the aclnn interface (aclnnAdd is "Add") and of operator types, as
facts. `is_built_in` compares them without case, underscores, version and direction: AddV2, InplaceAdd and add_ are Add.
"""

import re

from coordinator.integrity.words import words

BUILT_IN_OPERATORS = words(
    # Elementwise arithmetic, comparison, bits.
    "Abs Acos Acosh Add Addcdiv Addcmul Addr Adds Asin Asinh Atan Atan2 Atanh Axpy BitwiseAnd "
    "BitwiseAndScalar BitwiseAndTensor BitwiseNot BitwiseOr BitwiseOrScalar BitwiseOrTensor BitwiseXor "
    "BitwiseXorScalar BitwiseXorTensor Cast Ceil Clamp ClampMax ClampMin ClampTensor ClipByValue Complex "
    "Copysign Cos Cosh Digamma Div DivMod DivMods Divs Dot Eq EqScalar EqTensor Equal Erf Erfc Erfinv Exp "
    "Exp2 Expm1 Fill FillDiagonal FillScalar FillTensor Floor FloorDiv FloorDivide FloorDivides FloorMod Fmod "
    "FmodScalar FmodTensor Frac Ge GeScalar GeTensor Greater GreaterEqual Gt GtScalar GtTensor Hypot "
    "Inv Invert IsClose IsFinite IsInf IsNan IsNegInf IsPosInf LeScalar LeTensor Lerp Lerps Less LessEqual "
    "Lgamma Log Log10 Log1p Log2 LogAddExp LogAddExp2 LogicalAnd LogicalNot LogicalOr LogicalXor LtScalar "
    "LtTensor Maximum MaximumGrad Minimum MinimumGrad Mod Mul Muls NanToNum Ne NeScalar NeTensor Neg NotEqual "
    "Nextafter OnesLike Polar Pow PowScalarTensor PowTensorScalar PowTensorTensor RealDiv Real Imag "
    "Reciprocal Remainder RemainderScalarTensor RemainderTensorScalar RemainderTensorTensor Rint Round "
    "RoundDecimals Rsqrt Rsub Rsubs Sign SignBits Signbit Sin Sinc Sinh Sqrt Square SquareSumAll "
    "SquaredDifference SubScalar Sub Subs Tan Trunc TruncateDiv TruncateMod Xlogy XLogYScalarOther "
    "XLogYScalarSelf XLogYTensor Xdivy Zero ZerosLike Identity TensorEqual TensorMove Rand",
    # Activations and their gradients.
    "Celu CeluGrad Elu EluBackward EluGrad FastGelu FastGeluBackward FastGeluGrad FatreluMul GeGlu "
    "GeGluBackward GeGluGrad Gelu GeluBackward GeluGrad GeluMul GeluQuant Glu GluBackward GluGrad HardShrink "
    "HardShrinkBackward HardShrinkGrad HardSigmoid HardSigmoidBackward HardSigmoidGrad HardSwish "
    "HardSwishBackward HardSwishGrad Hardshrink Hardsigmoid HardsigmoidBackward Hardswish HardswishBackward "
    "Hardtanh HardtanhBackward HardtanhGrad LeakyRelu LeakyReluBackward LeakyReluGrad LogSigmoid "
    "LogSigmoidBackward LogSigmoidForward LogSigmoidGrad Mish MishBackward MishGrad PRelu Prelu PreluBackward "
    "PReluGrad Relu Relu6 Relu6Grad ReluGrad Selu SeluBackward SeluGrad Shrink Sigmoid SigmoidBackward "
    "SigmoidGrad Silu SiluBackward SiluGrad Softplus SoftplusBackward SoftplusGrad SoftShrink SoftShrinkGrad "
    "Softshrink SoftshrinkBackward Softsign SoftsignGrad SwiGlu SwiGluGrad SwiGluQuant Swish SwishBackward "
    "SwishGrad Tanh TanhBackward TanhGrad Threshold ThresholdBackward ThresholdGradD DequantSwigluQuant",
    # Reductions, scans, sorts.
    "Aminmax AminmaxAll AminmaxDim All Amax Amin Any ArgMax ArgMin ArgMaxWithValue ArgMinWithValue Argsort "
    "Bincount Cummax Cummin Cumprod Cumsum CumsumD Histc Kthvalue LogSumExp Logcumsumexp Max MaxDim Mean "
    "Median MedianDim Min MinDim Mode NanMedian NanMedianDim Nansum Norm LpNorm Prod ProdDim Quantile "
    "ReduceAll ReduceAny ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceNansum ReduceProd "
    "ReduceStd ReduceStdWithMean ReduceSum ReduceSumOp SearchSorted SearchSorteds Sort Std StdMeanCorrection "
    "Sum Topk TopK Trace UniqueConsecutive Unique UniqueDim Var VarMean VarCorrection",
    # Normalisation, losses, softmax, dropout, optimisers.
    "AdaLayerNorm AddLayerNorm AddLayerNormGrad AddRmsNorm AddRmsNormCast AddRmsNormDynamicQuant "
    "AddRmsNormQuant ApplyAdam ApplyAdamW ApplyAdagrad ApplyFusedEmaAdam ApplyMomentum ApplyRmsProp BatchNorm "
    "BatchNormBackward BatchNormElemt BatchNormElemtBackward BatchNormGatherStatsWithCounts BatchNormGrad "
    "BatchNormReduce BatchNormReduceBackward BatchNormStats BinaryCrossEntropy BinaryCrossEntropyBackward "
    "BinaryCrossEntropyGrad BinaryCrossEntropyWithLogits BinaryCrossEntropyWithLogitsBackward "
    "CosineEmbeddingLoss CrossEntropyLoss CrossEntropyLossGrad CtcLoss CtcLossBackward CTCLoss CTCLossGrad "
    "DeepNorm DeepNormGrad Dropout DropoutBackward DropoutDoMask DropoutGenMask "
    "FusedLinearCrossEntropyLossGrad FusedLinearOnlineMaxSum GroupNorm GroupNormBackward GroupNormGrad "
    "GroupNormSilu GroupNormSwish GroupNormSwishGrad HuberLoss InstanceNorm KlDiv KlDivBackward KLDiv "
    "KlDivLossGrad L1Loss L1LossBackward L1LossGrad LayerNorm LayerNormBackward LayerNormGrad "
    "LayerNormWithImplMode LogSoftmax LogSoftmaxBackward LogSoftmaxGrad LogitNormalize LpLoss "
    "MaskedSoftmaxWithRelPosBias MseLoss MseLossBackward MseLossGrad MseLossOut MultilabelMarginLoss NLLLoss "
    "NLLLoss2d NLLLoss2dBackward NLLLossBackward NLLLossGrad NllLoss Renorm RmsNorm RmsNormGrad RmsNormQuant "
    "ScaledMaskedSoftmax ScaledMaskedSoftmaxGrad SigmoidCrossEntropyWithLogits SmoothL1Loss "
    "SmoothL1LossBackward SmoothL1LossGrad SoftMarginLoss SoftMarginLossBackward SoftMarginLossGrad Softmax "
    "SoftmaxBackward SoftmaxCrossEntropyWithLogits SoftmaxGrad SyncBatchNormGatherStats TripletMarginLoss",
    # Matrices, convolutions, attention, quantisation.
    "Addbmm Addmm Addmv AllGatherMatmul AllGatherMm AscendAntiQuant AscendDequant AscendQuant Baddbmm "
    "BatchMatMul BatchMatMulWeightNz BatchMatmul BatchMatmulQuant CalculateMatmulWeightSize Convolution "
    "Conv2D Conv3D Conv2DBackpropFilter Conv2DBackpropInput Conv2DTranspose Conv3DTranspose ConvDepthwise2d "
    "ConvTbc ConvTbcBackward ConvolutionBackward DepthwiseConv2D DeformableConv2d DeformableOffsets "
    "Dequantize DynamicQuant DynamicBlockQuant Einsum FFN FakeQuantPerChannelAffineCachemask "
    "FakeQuantPerTensorAffineCachemask FlashAttentionScore FlashAttentionScoreGrad FlashAttentionVarLenScore "
    "FusedInferAttentionScore FusedMatmul GemmV2 Gemm Ger GroupQuant GroupedBiasAddGrad GroupedMatmul Inverse "
    "Linalg LinalgCross LinalgQr LinalgVectorNorm Linear Logdet MatMul MatmulAllReduce "
    "MatmulAllReduceAddRmsNorm MatmulCompress MatmulReduceScatter MatmulTransA Matmul MatmulWeightNz "
    "MlaProlog Mm Mv PromptFlashAttention Qr QuantConvolution QuantMatmul QuantMatmulAllReduce "
    "QuantMatmulDequant Quantize QuantizeBatchMatmul Slogdet Svd TransQuantParam TransposeBatchMatMul "
    "Triangular TriangularSolve IncreFlashAttention WeightQuantBatchMatmul WeightQuantMatmulAllReduce "
    "NsaSelectedAttention RingAttentionUpdate MoeComputeExpertTokens MoeDistributeCombine "
    "MoeDistributeDispatch MoeFinalizeRouting MoeGatingTopK MoeGatingTopKSoftmax MoeInitRouting "
    "MoeTokenPermute MoeTokenUnpermute ApplyRotaryPosEmb RotaryPositionEmbedding RotaryPositionEmbeddingGrad "
    "RotaryMul InterleaveRope ScatterPaKvCache",
    # Shapes, indices, movement, pools, images, random numbers.
    "AdaptiveAvgPool2d AdaptiveAvgPool2dBackward AdaptiveAvgPool3d AdaptiveAvgPool3dBackward "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d AffineGrid Arange AsStrided AvgPool AvgPool2d AvgPool2dBackward "
    "AvgPool3d AvgPool3dBackward AvgPoolV2 BatchToSpace Bernoulli BernoulliTensor BroadcastTo BucketizeD Cat "
    "CentralCrop ChannelShuffle Col2im Im2col Im2colBackward Concat ConcatD ConstantPadNd Contiguous Copy "
    "Cross Cdist CdistGrad Diag DiagFlat DiagPart Dilation2D DropWithProb Embedding EmbeddingBag "
    "EmbeddingDenseBackward EmbeddingDenseGrad EmbeddingRenorm Erase Expand ExpandDims Exponential Eye "
    "Flatten Flip ForeachAbs ForeachAcos ForeachAddList ForeachAddScalar ForeachAddcdivList "
    "ForeachAddcmulList ForeachCopy ForeachCos ForeachDivList ForeachExp ForeachLerpList ForeachMulList "
    "ForeachMulScalar ForeachNorm ForeachSqrt ForeachSubList Gather GatherD GatherElements GatherNd GatherV2 "
    "GatherV3 GridSample2D GridSampler2D GridSampler2DBackward GridSampler3D GridSampler3DBackward Index "
    "IndexAdd IndexAddV2 IndexCopy IndexFillTensor IndexFill IndexPut IndexPutImpl IndexPutWithSort "
    "IndexSelect Iou LessEqualScalar Linspace LinSpace MaskedFill MaskedFillScalar MaskedFillTensor "
    "MaskedScale MaskedScatter MaskedSelect MaxPool MaxPool2dWithIndices MaxPool2dWithIndicesBackward "
    "MaxPool2dWithMask MaxPool3dWithArgmax MaxPoolWithArgmax MaxUnpool2d MaxUnpool3d Meshgrid Multinomial "
    "NMSWithMask Nms NonMaxSuppression NonZero Nonzero Normal NormalFloatFloat OneHot Ones Pad PadV3 "
    "MirrorPad Pdist PdistForward Permute PixelShuffle PixelUnshuffle PsRoiPooling RandUniform Randint Random "
    "Randperm Range ReflectionPad1d ReflectionPad1dBackward ReflectionPad2d ReflectionPad2dBackward "
    "ReflectionPad3d Repeat RepeatInterleave RepeatInterleaveGrad ReplicationPad1d ReplicationPad2d "
    "ReplicationPad2dBackward ReplicationPad3d Reshape Resize ResizeBilinear ResizeNearestNeighbor "
    "ReverseSequence Reverse ROIAlign RoiAlign RoiAlignBackward Roll SWhere Scatter ScatterAdd "
    "ScatterAddWithSorted ScatterElements ScatterList ScatterMax ScatterMin ScatterNd ScatterNdAdd "
    "ScatterNdUpdate ScatterUpdate ScatterValue Select SelectV2 Shape Slice SliceScatter SpaceToBatch Split "
    "SplitD SplitTensor SplitV SplitWithSize Squeeze Stack StridedSlice StridedSliceAssign StridedSliceGrad "
    "Take TensorScatterUpdate Tile TransData Transpose Tril Triu Uniform Unfold UnfoldGrad Unpack Unsqueeze "
    "UpsampleBicubic2d UpsampleBicubic2dBackward UpsampleBicubic2dAA UpsampleBilinear2d UpsampleBilinear2dAA "
    "UpsampleBilinear2dBackward UpsampleLinear1d UpsampleNearest1d UpsampleNearest1dBackward "
    "UpsampleNearest2d UpsampleNearest2dBackward UpsampleNearest3d UpsampleNearestExact1d "
    "UpsampleNearestExact2d UpsampleTrilinear3d Where InplaceIndexAddWithSorted InplaceIndexAdd InplaceUpdate "
    "Zeros",
)


def _plain(name: str) -> str:
    """The name by which operators are compared: no case, underscores, "Inplace" before it or version behind it."""
    plain = name.replace("_", "").lower()
    plain = re.sub(r"v\d+$", "", plain)
    return plain.removeprefix("aclnn").removeprefix("inplace") or plain


_PLAIN = frozenset(_plain(name) for name in BUILT_IN_OPERATORS)


def is_built_in(name: str) -> bool:
    """Whether an operator type is one that an installation brings along."""
    return _plain(name) in _PLAIN
