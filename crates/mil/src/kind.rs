//! Which op: one name per op type, by family.
//!
//! The list is only names; what each op takes and gives stands in the op table (`ops/`), which a test
//! holds to have exactly one entry for each kind.

macro_rules! op_kinds {
    ($($variant:ident = $name:literal,)*) => {
        /// An op type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the op table documents each op under the same name")]
        pub enum OpKind {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
            /// An op that the table does not have; it keeps its file's name.
            Unknown,
        }

        impl OpKind {
            /// Every op type of the table.
            pub const ALL: &'static [OpKind] = &[$(OpKind::$variant),*];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(OpKind::$variant => $name,)*
                    OpKind::Unknown => "unknown",
                }
            }

            /// The op type of a file's name; `None` when the table does not have it.
            pub fn from_name(name: &str) -> Option<OpKind> {
                Some(match name { $($name => OpKind::$variant,)* _ => return None })
            }
        }
    };
}

op_kinds! {
    // elementwise_unary
    Abs = "abs",
    Acos = "acos",
    Asin = "asin",
    Atan = "atan",
    Atanh = "atanh",
    Ceil = "ceil",
    Clip = "clip",
    Cos = "cos",
    Cosh = "cosh",
    Erf = "erf",
    Exp = "exp",
    Exp2 = "exp2",
    Floor = "floor",
    Inverse = "inverse",
    Log = "log",
    LogicalNot = "logical_not",
    Round = "round",
    Rsqrt = "rsqrt",
    Sign = "sign",
    Sin = "sin",
    Sinh = "sinh",
    Sqrt = "sqrt",
    Square = "square",
    Tan = "tan",
    Tanh = "tanh",
    Threshold = "threshold",
    Cast = "cast",
    // activation
    ClampedRelu = "clamped_relu",
    Elu = "elu",
    Gelu = "gelu",
    LeakyRelu = "leaky_relu",
    LinearActivation = "linear_activation",
    Prelu = "prelu",
    Relu = "relu",
    Relu6 = "relu6",
    ScaledTanh = "scaled_tanh",
    Sigmoid = "sigmoid",
    SigmoidHard = "sigmoid_hard",
    Silu = "silu",
    Softplus = "softplus",
    SoftplusParametric = "softplus_parametric",
    Softmax = "softmax",
    Softsign = "softsign",
    ThresholdedRelu = "thresholded_relu",
    // classify
    Classify = "classify",
    // control_flow
    Cond = "cond",
    Const = "const",
    ConstSymbolic = "_const_symbolic",
    WhileLoop = "while_loop",
    // conv
    Conv = "conv",
    ConvQuantized = "conv_quantized",
    ConvTranspose = "conv_transpose",
    // elementwise_binary
    Add = "add",
    Equal = "equal",
    FloorDiv = "floor_div",
    Greater = "greater",
    GreaterEqual = "greater_equal",
    Less = "less",
    LessEqual = "less_equal",
    LogicalAnd = "logical_and",
    LogicalOr = "logical_or",
    LogicalXor = "logical_xor",
    Maximum = "maximum",
    Minimum = "minimum",
    Mod = "mod",
    Mul = "mul",
    NotEqual = "not_equal",
    RealDiv = "real_div",
    Pow = "pow",
    Sub = "sub",
    Select = "select",
    // image_resizing
    UpsampleNearestNeighbor = "upsample_nearest_neighbor",
    ResizeNearestNeighbor = "resize_nearest_neighbor",
    UpsampleBilinear = "upsample_bilinear",
    ResizeBilinear = "resize_bilinear",
    CropResize = "crop_resize",
    Crop = "crop",
    Affine = "affine",
    Resample = "resample",
    Resize = "resize",
    // linear
    Linear = "linear",
    Matmul = "matmul",
    Einsum = "einsum",
    // normalization
    BatchNorm = "batch_norm",
    InstanceNorm = "instance_norm",
    L2Norm = "l2_norm",
    LayerNorm = "layer_norm",
    LocalResponseNorm = "local_response_norm",
    // pool
    AvgPool = "avg_pool",
    L2Pool = "l2_pool",
    MaxPool = "max_pool",
    // random
    RandomBernoulli = "random_bernoulli",
    RandomCategorical = "random_categorical",
    RandomNormal = "random_normal",
    RandomUniform = "random_uniform",
    // recurrent
    Gru = "gru",
    Lstm = "lstm",
    Rnn = "rnn",
    // reduction
    ReduceArgmax = "reduce_argmax",
    ReduceArgmin = "reduce_argmin",
    ReduceL1Norm = "reduce_l1_norm",
    ReduceL2Norm = "reduce_l2_norm",
    ReduceLogSum = "reduce_log_sum",
    ReduceLogSumExp = "reduce_log_sum_exp",
    ReduceMax = "reduce_max",
    ReduceMean = "reduce_mean",
    ReduceMin = "reduce_min",
    ReduceProd = "reduce_prod",
    ReduceSum = "reduce_sum",
    ReduceSumSquare = "reduce_sum_square",
    // scatter_gather
    Gather = "gather",
    Scatter = "scatter",
    GatherAlongAxis = "gather_along_axis",
    ScatterAlongAxis = "scatter_along_axis",
    GatherNd = "gather_nd",
    ScatterNd = "scatter_nd",
    // tensor_operation
    BandPart = "band_part",
    Cumsum = "cumsum",
    Fill = "fill",
    NonMaximumSuppression = "non_maximum_suppression",
    NonZero = "non_zero",
    OneHot = "one_hot",
    Pad = "pad",
    Range1d = "range_1d",
    Tile = "tile",
    Argsort = "argsort",
    Topk = "topk",
    Flatten2d = "flatten2d",
    Shape = "shape",
    Concat = "concat",
    Split = "split",
    Stack = "stack",
    Identity = "identity",
    FillLike = "fill_like",
    // tensor_transformation
    DepthToSpace = "depth_to_space",
    ExpandDims = "expand_dims",
    Reshape = "reshape",
    Reverse = "reverse",
    ReverseSequence = "reverse_sequence",
    SliceByIndex = "slice_by_index",
    SliceBySize = "slice_by_size",
    SpaceToDepth = "space_to_depth",
    SpaceToBatch = "space_to_batch",
    BatchToSpace = "batch_to_space",
    Squeeze = "squeeze",
    Transpose = "transpose",
    PixelShuffle = "pixel_shuffle",
    SlidingWindows = "sliding_windows",
    ReshapeLike = "reshape_like",
    PixelUnshuffle = "pixel_unshuffle",
    SliceUpdate = "slice_update",
    // constexpr
    ConstexprAffineDequantize = "constexpr_affine_dequantize",
    ConstexprCast = "constexpr_cast",
    ConstexprLutToDense = "constexpr_lut_to_dense",
    ConstexprSparseToDense = "constexpr_sparse_to_dense",
    ConstexprBlockwiseShiftScale = "constexpr_blockwise_shift_scale",
    ConstexprLutToSparse = "constexpr_lut_to_sparse",
    ConstexprSparseBlockwiseShiftScale = "constexpr_sparse_blockwise_shift_scale",
    // quantization
    Quantize = "quantize",
    Dequantize = "dequantize",
    // state
    ReadState = "read_state",
    WriteState = "write_state",
    CoremlUpdateState = "coreml_update_state",
    // attention
    ScaledDotProductAttention = "scaled_dot_product_attention",
    // complex_dialect
    Complex = "complex",
    ComplexReal = "complex_real",
    ComplexImag = "complex_imag",
    ComplexFft = "complex_fft",
    ComplexFftn = "complex_fftn",
    ComplexRfft = "complex_rfft",
    ComplexRfftn = "complex_rfftn",
    ComplexIfft = "complex_ifft",
    ComplexIfftn = "complex_ifftn",
    ComplexIrfft = "complex_irfft",
    ComplexIrfftn = "complex_irfftn",
    ComplexShape = "complex_shape",
    ComplexAbs = "complex_abs",
    ComplexStft = "complex_stft",
    // torch_dialect
    TorchUpsampleNearestNeighbor = "torch_upsample_nearest_neighbor",
    TorchUpsampleBilinear = "torch_upsample_bilinear",
    TorchTensorAssign = "torch_tensor_assign",
    // list
    MakeList = "make_list",
    ListLength = "list_length",
    ListWrite = "list_write",
    ListRead = "list_read",
    ListGather = "list_gather",
    ListScatter = "list_scatter",
}

impl std::fmt::Display for OpKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
