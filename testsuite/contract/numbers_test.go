package contract_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
)

// notable numbers lie where integers, doubles and the database's decimals part. What the server makes of each is
// recorded.
var notable = []string{
	"0", "-0", "0.0", "-0.0", "1", "-1", "1.0", "1.50", "0.1", "0.30000000000000004", "100", "1e2", "1E2", "1e+2", "1.5e3", "12e-1",
	"9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
	"9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616",
	"999999999999999999999", "1000000000000000000000", "1e20", "1e21", "1e22", "1e23", "123456789012345678901234567890",
	"0.000001", "0.0000001", "1e-6", "1e-7", "1.23e-9", "3.141592653589793238462643383279", "0.1000000000000000055511151231257827",
	"1e100", "1.7e200", "1e299", "1e300", "1.0000000000000002e300", "1e308", "1.7976931348623157e308", "-1.7976931348623157e308",
	"1e-100", "1e-300", "2.2250738585072014e-308", "5e-324", "-5e-324", "2e-324", "1e-400",
}

func numbersReadBack(s *scene) {
	numbers := append(append([]string{}, notable...), generatedNumbers()...)
	desired := s.work(configMapOf("numbers", "["+strings.Join(numbers, ",")+"]"))
	stored := s.create(desired)
	for index, kept := range s.keptNumbers(stored, len(numbers)) {
		sent := numbers[index]
		assert.True(s, manifest.Same(s.work(configMapOf("n", kept)), s.work(configMapOf("n", sent))), "sent %s, stored %s", sent, kept)
		if index < len(notable) {
			s.record("number "+sent, kept)
		}
	}
	s.assertSettled(stored, desired)
	s.assertSettled(s.change(desired), desired)
}

func (s *scene) keptNumbers(stored *manifest.Stored, want int) []string {
	s.Helper()
	var read struct{ Data []json.RawMessage }
	require.NoError(s, json.Unmarshal(stored.Work.Spec.Workload.Manifests[0].Raw, &read))
	require.Len(s, read.Data, want)
	kept := make([]string, want)
	for index, raw := range read.Data {
		kept[index] = string(raw)
	}
	return kept
}

// generatedNumbers are the same in every run: integers of every length, doubles of every magnitude, and decimals that
// are no doubles.
func generatedNumbers() []string {
	random := rand.New(rand.NewPCG(1, 2))
	var numbers []string
	for range 80 {
		integer := random.Int64() >> random.IntN(63)
		bits := math.Float64frombits(random.Uint64())
		if math.IsNaN(bits) || math.IsInf(bits, 0) {
			bits = 0.5
		}
		digits := fmt.Sprintf("%d.%018d", random.IntN(1000), random.Int64N(1e18))
		numbers = append(numbers,
			strconv.FormatInt(integer, 10), strconv.FormatInt(-integer, 10),
			strconv.FormatFloat(bits, 'g', -1, 64), strconv.FormatFloat(bits, 'e', 20, 64),
			strconv.FormatFloat(random.NormFloat64(), 'f', -1, 64), digits, digits+"e"+strconv.Itoa(random.IntN(40)-20))
	}
	return numbers
}

// Equality that forgives the server's rounding must not forgive more than that.
func changedNumberIsAChange(s *scene) {
	for index, pair := range [][2]string{
		{"1", "2"}, {"0", "1"}, {"1", "-1"}, {"0.1", "0.2"}, {"9007199254740991", "9007199254740992"},
		{"1e21", "1e22"}, {"0.3", "0.30000000000000004"}, {"1", `"1"`}, {"0", "null"}, {"0", "false"}, {"5e-324", "0"}, {"1e308", "1.1e308"},
	} {
		before := newWork(s.consumer, fmt.Sprintf("pair-%d", index), configMapOf("n", "["+pair[0]+"]"))
		after := newWork(s.consumer, before.Name, configMapOf("n", "["+pair[1]+"]"))
		stored := s.create(before)
		write, _, err := manifest.Decide(stored, after, false)
		require.NoError(s, err)
		assert.Equal(s, manifest.WriteUpdate, write, "%s to %s", pair[0], pair[1])
		s.assertSettled(s.change(after), after)
	}
}
