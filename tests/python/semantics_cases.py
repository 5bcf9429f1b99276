"""Expressions whose value or error TensorFlow decides, in one place for the tests and for the script that asks
TensorFlow (tools/reference/make_python_reference.py). Names: tf, np."""

CASES = """
# Python values
tf.constant([1, 2.5])
tf.constant([True, 1])
tf.constant([1, True])
tf.constant([[1, 2], [3]])
tf.constant([[1, 2], 3])
tf.constant(300, tf.int8)
tf.constant([300], tf.int8)
tf.constant(2**40)
tf.constant([2**40, 1])
tf.constant(2**63)
tf.constant(2**70)
tf.constant(2**40, tf.int32)
tf.constant(1.5, tf.int32)
tf.constant([1.5], tf.int32)
tf.constant(1, tf.bool)
tf.constant(True, tf.float32)
tf.constant(1, tf.float16)
tf.constant(1, tf.bfloat16)
tf.constant('a')
tf.constant(['a', b'b'])
tf.constant('a', tf.int32)
tf.constant('ü')
tf.constant(1j)
tf.constant([1, 2j])
tf.constant([2j, 1])
tf.constant([1, 'a'])
tf.constant(['a', 1])
tf.constant([])
tf.constant([[], []])
tf.constant((1, 2))
tf.constant(range(3))
tf.constant(None)
tf.constant([None])
tf.constant({'a': 1})
tf.constant(np.array([1., 2.]))
tf.constant(np.array([1.7, -2.7]), tf.int32)
tf.constant(np.array([[1, 2], [3, 4]]).T)
tf.constant(np.array([1, 2], '>i4'))
tf.constant(np.array(['a', 'bc']))
tf.constant(np.array([b'a', 'ü'], object))
tf.constant(np.array([1, 2], object))
tf.constant(np.float64(1))
tf.constant(np.int64(1))
tf.constant([np.float64(1)])
tf.constant([np.float64(1), 2])
tf.constant([np.int64(1)])
tf.constant([np.array([1, 2]), np.array([3, 4])])
tf.constant([np.float32(1), np.float32(2)])
tf.constant([1, 2], shape=(2, 1))
tf.constant(3, shape=(2, 2))
tf.constant([1, 2], shape=(2, 2))
tf.convert_to_tensor(tf.constant(1.), tf.int32)
tf.convert_to_tensor(1, dtype=tf.float32)
tf.convert_to_tensor(1.5, dtype_hint=tf.int32)
tf.convert_to_tensor([tf.constant(1.), tf.constant(2.)])
tf.convert_to_tensor([[tf.constant(1.), 2.], [3., 4.]])
tf.convert_to_tensor(tf.TensorShape([2, 3]))
tf.convert_to_tensor(tf.Variable(3.))
tf.cast(1.7, tf.int32)
tf.cast([True, False], tf.float32)
# Operators and promotion
tf.constant([1., 2.]) + np.array([1., 2.])
tf.constant([1., 2.]) + 1
1 + tf.constant([1., 2.])
tf.constant([1, 2]) + 1.5
1.5 + tf.constant([1, 2])
tf.constant([1, 2]) - 1.5
tf.constant([1, 2]) + tf.constant([1., 2.])
tf.constant([1, 2]) * tf.constant([1, 2], tf.int64)
tf.add(1, 2.5)
tf.add(1.5, 2)
tf.multiply(1.5, 2)
tf.add('a', 'b')
tf.constant(['a', 'b']) + 'c'
tf.sqrt(4)
tf.constant([1, 2]) + np.array([1., 2.])
np.array([1., 2.]) + tf.constant([1, 2])
np.float64(2) * tf.constant([1., 2.])
tf.constant([1, 2]) + True
tf.constant([1., 2.]) + [1, 2]
tf.constant([1., 2.]) + 'a'
tf.constant([1., 2.]) + tf.constant([1., 2., 3.])
tf.constant([1, 2]) / tf.constant([1, 3])
tf.constant([1, 2], tf.int8) / 2
tf.constant([1, 2]) / tf.constant([1., 2.])
tf.divide(3, 2)
tf.constant([7, -7]) // 2
tf.constant([7., -7.]) // 2
tf.constant([7, -7]) % 3
tf.constant(2) ** 3
2 ** tf.constant(3.)
tf.constant([True]) & True
tf.constant([True, False]) ^ tf.constant([True, True])
tf.constant([6, 3]) & 2
tf.constant([True, False]) | tf.constant([False, False])
~tf.constant([1])
~tf.constant([True])
abs(tf.constant([-1, 2]))
abs(tf.constant(3 + 4j))
-tf.constant(1)
tf.constant([[1., 2.]]) @ [[1.], [2.]]
tf.constant([1, 2]) == tf.constant([1, 2])
tf.constant([1, 2]) == tf.constant([1, 2, 3])
tf.constant([1, 2]) != tf.constant([1, 2, 3])
tf.constant([1, 2]) != None
tf.constant([1, 2]) == None
tf.constant(1) == 'a'
tf.constant([1, 2]) < 1.5
tf.constant([1, 2]) >= 2
2 > tf.constant([1, 2])
# As Python values
bool(tf.constant([1, 2]))
bool(tf.constant(2.))
bool(tf.constant('a'))
bool(tf.constant([]))
bool(tf.constant([[3]]))
int(tf.constant(3.7))
float(tf.constant(3))
float(tf.constant([3.7]))
int(tf.constant([3, 4]))
complex(tf.constant(3.))
[10, 20, 30][tf.constant(1)]
hash(tf.constant(1))
len(tf.constant(1))
len(tf.constant([1, 2]))
list(tf.constant([1, 2]))
list(tf.constant([[1, 2], [3, 4]]))
list(tf.constant(1))
'%s' % tf.constant(1)
f'{tf.constant(1.5)}'
f'{tf.constant(1.5):.3f}'
f'{tf.constant([1.5, 2.])}'
tf.constant([1., 2.]).numpy()
tf.constant(1.5).numpy()
tf.constant(['a', 'b']).numpy()
tf.constant('a').numpy()
tf.constant(1.5, tf.bfloat16).numpy()
tf.constant([1, 2]).ref() == tf.constant([1, 2]).ref()
# Indexing
tf.range(10)[2:5]
tf.range(10)[::-1]
tf.range(10)[-3:]
tf.range(10)[8:2:-2]
tf.range(10)[5:2]
tf.range(10)[20]
tf.range(10)[-11]
tf.range(10)[1.5]
tf.range(10)['a']
tf.range(10)[tf.constant(2)]
tf.range(10)[tf.constant(2):tf.constant(7):2]
tf.range(10)[tf.constant([True, False] * 5)]
tf.range(4)[np.array([True, False, True, False])]
tf.range(10)[tf.constant([1, 2])]
tf.range(10)[np.int64(3)]
tf.range(10)[[1, 2]]
tf.range(10)[..., ...]
tf.range(10)[None]
tf.range(10)[()]
tf.reshape(tf.range(24), (2, 3, 4))[..., 1]
tf.reshape(tf.range(24), (2, 3, 4))[1, :, tf.newaxis, ::2]
tf.reshape(tf.range(24), (2, 3, 4))[1][2]
tf.reshape(tf.range(24), (2, 3, 4))[:, -1, ..., None]
tf.reshape(tf.range(24), (2, 3, 4))[0, 0, 0, 0]
# DType and TensorShape
tf.as_dtype('foo')
tf.as_dtype(np.float32)
tf.as_dtype(float)
tf.as_dtype(int)
tf.as_dtype('half')
repr(tf.float32)
str(tf.float32)
tf.float32 == 'float32'
tf.float32 == np.float32
tf.float32 == 'foo'
tf.float32.max
tf.int8.limits
tf.int8.min
tf.float32.as_datatype_enum
tf.string.as_numpy_dtype
tf.bfloat16.as_numpy_dtype
tf.complex64.real_dtype
tf.TensorShape([1, None, 3])
str(tf.TensorShape([1, None, 3]))
tf.TensorShape(None)
str(tf.TensorShape(None))
tf.TensorShape([1, 2]) == [1, 2]
tf.TensorShape([1, 2]) + [3]
tf.TensorShape([2, 3])[0]
tf.TensorShape([2, 3])[0:1]
tf.TensorShape([2, None]).num_elements()
tf.TensorShape([2, None]).as_list()
tf.TensorShape(None).as_list()
len(tf.TensorShape(None))
tf.TensorShape([2, None]).merge_with([None, 3])
tf.TensorShape([2, None]).merge_with([3, 3])
tf.TensorShape([2]).assert_is_compatible_with([3])
tf.TensorSpec((2, None), tf.float32)
tf.TensorSpec((2, None), tf.float32, 'x')
# Variables
tf.Variable(1.)
tf.Variable([1, 2], name='v')
tf.Variable(1.) + 1
tf.Variable([1., 2.])[0]
tf.Variable(lambda: tf.ones(2))
tf.Variable(1).assign(1.5)
tf.Variable(1.).name
tf.Variable([1., 2.]).assign_add([1., 1.]).numpy()
tf.Variable([1., 2.]).assign([1.])
tf.Variable([1., 2.], shape=(None,)).assign([1., 2., 3.]).shape
# Functions
tf.reshape(tf.range(6), (4,))
tf.reshape(tf.range(6), ())
tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
tf.concat([tf.ones((2, 3)), tf.ones((3, 2))], 0)
tf.concat([[1, 2], [3]], 0)
tf.zeros(())
tf.zeros([2], tf.string)
tf.ones((2, 1), tf.bool)
tf.eye(2, 3)
tf.range(1, 2, 0.5)
tf.range(5, dtype=tf.float64)
tf.linspace(0., 1., 3)
tf.one_hot([0, 2], 3)
tf.one_hot([0, 2], 3, on_value=5, off_value=-1)
tf.split(tf.range(6), 3)
tf.split(tf.range(6), [1, 5])
tf.where([True, False], [1, 2], [3, 4])
tf.where([True, False, True])
tf.transpose([[1, 2], [3, 4]])
tf.pad([[1]], [[1, 0], [0, 2]], constant_values=7)
tf.tile([1, 2], [2])
tf.repeat([1, 2], [1, 3])
tf.gather([10, 20, 30], [2, 0])
tf.stack([1, 2])
tf.unstack([[1, 2], [3, 4]])
tf.argmax([1, 3, 2])
tf.reduce_sum([[1, 2], [3, 4]], axis=0)
tf.reduce_sum([[1, 2], [3, 4]], axis=[])
tf.reduce_mean([1, 2, 4])
tf.reduce_any([False, True])
tf.cumsum([1, 2, 3], reverse=True)
tf.math.top_k([1, 3, 2], 2)
tf.unique([1, 2, 1])
tf.einsum('ij,jk->ik', tf.constant([[1., 2.]]), tf.constant([[3.], [4.]]))
tf.tensordot([[1., 2.]], [[3.], [4.]], 1)
tf.norm([3., 4.])
tf.clip_by_value([1, 5, 9], 2, 6)
tf.nn.softmax([0., 0.])
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0., 0.]])
tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.], logits=[0.])
tf.math.confusion_matrix([0, 1, 1], [0, 1, 0])
tf.math.bincount([1, 1, 3])
tf.sequence_mask([1, 3], 3)
tf.meshgrid([1, 2], [3, 4, 5])
tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3]))
tf.random.stateless_uniform([2], seed=[1, 2], minval=0, maxval=10, dtype=tf.int32)
tf.reshape([[1, 2]], 2)
tf.nn.conv2d(tf.reshape(tf.range(16.), (1, 4, 4, 1)), tf.ones((2, 2, 1, 1)), 1, 'SAME')
tf.nn.conv2d(tf.reshape(tf.range(16.), (1, 4, 4, 1)), tf.ones((2, 2, 1, 1)), [1, 2, 2, 1], 'VALID')
tf.nn.conv2d(tf.reshape(tf.range(16.), (1, 4, 4, 1)), tf.ones((3, 3, 1, 1)), 2, [[0, 0], [1, 0], [0, 1], [0, 0]])
tf.nn.conv1d(tf.reshape(tf.range(6.), (1, 6, 1)), tf.ones((2, 1, 1)), 2, 'SAME')
tf.nn.convolution(tf.reshape(tf.range(6.), (1, 6, 1)), tf.ones((2, 1, 1)), dilations=2)
tf.nn.conv1d_transpose(tf.reshape(tf.range(3.), (1, 3, 1)), tf.ones((2, 1, 1)), [1, 6, 1], 2)
tf.nn.conv2d_transpose(tf.reshape(tf.range(4.), (1, 2, 2, 1)), tf.ones((2, 2, 1, 1)), [1, 4, 4, 1], 2, 'VALID')
tf.nn.depthwise_conv2d(tf.reshape(tf.range(8.), (1, 2, 2, 2)), tf.ones((2, 2, 2, 1)), [1, 1, 1, 1], 'VALID')
tf.nn.max_pool2d(tf.reshape(tf.range(16.), (1, 4, 4, 1)), 2, 2, 'VALID')
tf.nn.avg_pool(tf.reshape(tf.range(4.), (1, 4, 1)), 2, 1, 'SAME')
tf.nn.pool(tf.reshape(tf.range(4.), (1, 4, 1)), [2], 'MAX')
tf.nn.moments(tf.constant([[1., 3.], [5., 7.]]), [0])
tf.nn.bias_add(tf.zeros((1, 2, 2)), [1., 2.])
tf.cond(tf.constant(True), lambda: 1, lambda: 2)
tf.switch_case(tf.constant(5), [lambda: tf.constant(1), lambda: tf.constant(2)])
tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (0, 10))
tf.while_loop(lambda i: i < 4, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=2)
tf.map_fn(lambda x: x * 2, tf.constant([1, 2]))
tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3]))
tf.foldl(lambda a, x: a - x, tf.constant([1, 2, 3]))
tf.TensorArray(tf.float32, 2).write(0, 1.).write(1, 2.).stack()
tf.TensorArray(tf.float32, 1).write(3, 1.)
tf.TensorArray(tf.int32, 0, dynamic_size=True).unstack([1, 2, 3]).read(1)
tf.clip_by_norm([3., 4.], 1.)
tf.linalg.diag([1, 2])
tf.linalg.diag_part([[1, 2], [3, 4]])
tf.linalg.trace([[1, 2], [3, 4]])
tf.searchsorted([1, 3, 5], [0, 3, 9], side='right')
tf.boolean_mask([[1, 2], [3, 4]], [True, False])
tf.saturate_cast([300., -5.], tf.uint8)
tf.debugging.assert_equal([1, 2], [1, 3])
tf.debugging.assert_rank(tf.zeros((2, 2)), 1)
tf.nest.flatten({'b': [1, (2,)], 'a': None})
tf.nest.map_structure(lambda x: x + 1, {'a': 1, 'b': [2]})
tf.nest.pack_sequence_as([1, (2, 3)], [4, 5, 6])
tf.nest.pack_sequence_as([1, 2], [1])
# What Keras's own tests found
tf.convert_to_tensor((tf.constant(31), tf.constant(32)), tf.float32)
tf.convert_to_tensor((tf.constant(31.5), 1), tf.int32)
tf.convert_to_tensor(([tf.constant(31)], [2]), tf.float32)
tf.convert_to_tensor((tf.constant(31), 1.5))
tf.convert_to_tensor((tf.constant(31), tf.constant(1.5)))
tf.reshape(tf.zeros(6), (tf.constant(2.), tf.constant(3.)))
tf.reshape(tf.zeros(6), (tf.constant(2., tf.bfloat16), 3, 1))
tf.fill((tf.constant(2.),), 1.)
tf.linalg.diag(tf.constant([True, False]))
tf.linalg.diag_part(tf.constant([[True, False], [False, True]]))
tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x + i), (0, np.array(0)))
tf.raw_ops.Bucketize(input=[[-5, 10000], [150, 10], [5, 100]], boundaries=[0., 10., 100.])
tf.raw_ops.Bucketize(input=[0.5, 10.], boundaries=[0., 10., 100.])
tf.experimental.numpy.finfo(tf.float32).eps
tf.raw_ops.ImageProjectiveTransformV3(images=tf.reshape(tf.range(5.), (1, 1, 5, 1)), transforms=[[1., 0, 9, 0, 1, 0, 0, 0]], output_shape=[1, 8], fill_value=7., interpolation='NEAREST', fill_mode='WRAP')
tf.raw_ops.ImageProjectiveTransformV3(images=tf.reshape(tf.range(5.), (1, 1, 5, 1)), transforms=[[1., 0, -4, 0, 1, 0, 0, 0]], output_shape=[1, 8], fill_value=7., interpolation='BILINEAR', fill_mode='REFLECT')
tf.nn.ctc_greedy_decoder(tf.constant([[[0.1, 2., 0.3]], [[0.1, 2.5, 0.3]], [[0.1, 0.5, 3.]], [[4., 0.5, 3.]]]), [4])[1]
tf.nn.ctc_greedy_decoder(tf.constant([[[0.1, 2., 0.3]], [[0.1, 2.5, 0.3]], [[0.1, 0.5, 3.]], [[4., 0.5, 3.]]]), [4])[0][0].values
tf.nn.ctc_greedy_decoder(tf.constant([[[0.1, 2., 0.3]]]), [4])
tf.nn.ctc_beam_search_decoder(tf.constant([[[0.1, 2., 0.3]], [[0.1, 2.5, 0.3]], [[0.1, 0.5, 3.]]]), [3], top_paths=2)[0][1].indices
tf.round(1000 * tf.nn.ctc_loss(tf.constant([[1, 2], [2, 0]]), tf.reshape(tf.sin(tf.range(24.)), (4, 2, 3)), [2, 1], [4, 3]))
tf.strings.split('a b  c')
tf.strings.split(['a b', 'c'])
tf.strings.split(['a,,b', 'c'], sep=',', maxsplit=1)
tf.strings.join(['a', ['b', 'c']], separator='-')
tf.strings.join([['a', 'b'], ['c']])
tf.strings.length(['h\u00e9llo', ''], unit='UTF8_CHAR')
tf.strings.lower('ABC \u00c4', encoding='utf-8')
tf.strings.substr(['hello', 'world'], [1, 2], [2, 9])
tf.strings.substr('abc', 5, 1)
tf.strings.regex_replace(['hello', 'ball'], 'l+', '<>')
tf.strings.regex_replace('a', '(', '')
tf.strings.regex_full_match(['TF', 'xTF'], 'T.*')
tf.strings.to_number(['1.5', '-2'])
tf.strings.to_number('x')
tf.strings.as_string([3.14159, 2.72], precision=2)
tf.strings.as_string([True, False])
tf.strings.format('x {} y', tf.constant([1, 2]))
tf.strings.reduce_join([['a', 'b'], ['c', 'd']], axis=0, separator='+')
tf.strings.unicode_decode('h\u00e9', 'UTF-8')
tf.strings.unicode_split(['h\u00e9', 'a'], 'UTF-8')
tf.strings.bytes_split(['ab', 'c'])
tf.io.decode_raw(['abcd', 'efgh'], tf.int16)
tf.io.decode_raw('abc', tf.int16)
tf.io.decode_csv(['1,2.5,x', '3,,y'], [[0], [1.], ['']])
tf.io.decode_base64(tf.io.encode_base64('hello world'))
tf.io.parse_tensor(tf.io.serialize_tensor([[1, 2], [3, 4]]), tf.int32)
tf.io.read_file('/no/such/file')
tf.io.gfile.exists('/no/such/file')
tf.io.gfile.listdir('/no/such/folder')
tf.ragged.constant([[1, 2], [], [3]])
tf.ragged.constant([[[1.5], []], [[2., 3.]]])
tf.ragged.constant([[1, 2], [3]]).to_tensor(-1)
tf.ragged.constant([[1, 2], [3]]) + 1
tf.ragged.constant([[1, 2], [3]]).shape
tf.ragged.constant([[1, 2], [3]])[0]
tf.ragged.range([2, 0, 3])
tf.reduce_sum(tf.ragged.constant([[1, 2], [3]]), axis=1)
tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).row_splits
tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(['a', 'b'], [1, 2]), -1).lookup(tf.constant(['b', 'x']))
tf.DeviceSpec.from_string('/job:w/task:1/GPU:0')
tf.train.ClusterSpec({'worker': ['a:1', 'b:2']})
tf.debugging.assert_shapes([(tf.zeros([2, 3]), ('N', 'Q')), (tf.zeros([2, 3]), ('Q', 'N'))])
tf.debugging.assert_positive([1, 0])
tf.debugging.assert_rank_in(tf.zeros([2]), (2, 3))
tf.math.is_non_decreasing([1, 1, 2])
tf.image.convert_image_dtype([[[1, 2, 255]]], tf.uint8)
tf.image.flip_left_right([[[1], [2]]])
tf.image.resize([1, 2], [2, 2])
tf.image.random_flip_left_right([1, 2])
tf.random.create_rng_state(1234, 'philox')
tf.nosuch
tf.math.nosuch
"""


def cases():
    return [line for line in CASES.strip().splitlines() if not line.startswith("#")]
