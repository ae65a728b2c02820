package contract

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// declaredErrorTypes reads the constants of type ErrorType from the source, so that no list has to be kept.
func declaredErrorTypes(t *testing.T) map[string]ErrorType {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	require.NoError(t, err)
	types := map[string]ErrorType{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if name, ok := value.Type.(*ast.Ident); !ok || name.Name != "ErrorType" {
				continue
			}
			literal, ok := value.Values[0].(*ast.BasicLit)
			require.True(t, ok, "%s is not a literal", value.Names[0].Name)
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			types[value.Names[0].Name] = ErrorType(text)
		}
	}
	return types
}

func TestEveryErrorTypeHasARule(t *testing.T) {
	declared := declaredErrorTypes(t)
	require.Greater(t, len(declared), 15, "the constants were not found")
	names := map[ErrorType]string{}
	for name, errorType := range declared {
		rule, found := Rules[errorType]
		assert.True(t, found, "%s has no rule", name)
		assert.NotEmpty(t, rule.Act, "%s: nobody can do anything about it", name)
		assert.NotContains(t, rule.Act, "\n", name)
		assert.Empty(t, names[errorType], "%s has the text of another type", name)
		names[errorType] = name
		assert.Regexp(t, `^[A-Z][A-Za-z]+$`, errorType, "it is a reason")
		assert.True(t, strings.HasPrefix(name, "Err"), name)
	}
	assert.Len(t, Rules, len(declared), "a rule without a type")
}

// What is retried is a part of the contract: a permanent failure ends within seconds, the others within the patience.
func TestOnlyWhatCanPassByItselfIsRetried(t *testing.T) {
	retried := map[ErrorType]bool{ErrVersionConflict: true, ErrUnderDeletion: true, ErrUnavailable: true, ErrNotReady: true, ErrClosing: true,
		ErrHyperFleetUnavailable: true, ErrReportDropped: true, ErrNodePoolsExist: true, ErrQueueFull: true}
	for errorType, rule := range Rules {
		assert.Equal(t, retried[errorType], rule.Retryable, errorType)
		assert.Equal(t, errorType == ErrNotReady, rule.Benign, errorType)
		assert.True(t, rule.Retryable || rule.Delay == 0, "%s: a delay before no attempt", errorType)
	}
}

func TestTypeOfSeesThroughWraps(t *testing.T) {
	typed := Errorf(ErrTooLarge, "big")
	through := func(err error) error {
		// As Temporal hands it over: encoded, stored, decoded.
		failures := temporal.GetDefaultFailureConverter()
		return failures.FailureToError(failures.ErrorToFailure(err))
	}
	for name, sample := range map[string]struct {
		err  error
		want ErrorType
	}{
		"nil":                       {nil, ""},
		"typed":                     {typed, ErrTooLarge},
		"wrapped":                   {fmt.Errorf("a: %w", fmt.Errorf("b: %w", typed)), ErrTooLarge},
		"joined":                    {errors.Join(errors.New("x"), typed), ErrTooLarge},
		"the outer of two":          {Errorf(ErrVersionConflict, "moved: %w", typed), ErrVersionConflict},
		"application":               {typed.Application(), ErrTooLarge},
		"final":                     {typed.Final("details"), ErrTooLarge},
		"stored by Temporal":        {through(typed.Application()), ErrTooLarge},
		"stored and wrapped":        {fmt.Errorf("a: %w", through(typed.Application())), ErrTooLarge},
		"wrapped and stored":        {through(fmt.Errorf("a: %w", typed.Application())), ErrTooLarge},
		"any other":                 {errors.New("TooLarge"), ErrInternal},
		"another's application":     {temporal.NewApplicationError("x", "SomethingElse"), ErrInternal},
		"application of no type":    {temporal.NewApplicationError("x", ""), ErrInternal},
		"application of the caller": {temporal.NewApplicationError("x", "Vanished"), ErrVanished},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, sample.want, TypeOf(sample.err)) })
	}
}

func TestErrorfKeepsTheCause(t *testing.T) {
	cause := errors.New("cause")
	err := Errorf(ErrVanished, "read %s: %w", "a", cause)
	assert.EqualError(t, err, "read a: cause")
	assert.ErrorIs(t, fmt.Errorf("more: %w", err), cause)
	assert.NoError(t, Errorf(ErrVanished, "no cause").Unwrap())
}

func TestApplicationCarriesTheRule(t *testing.T) {
	for errorType, rule := range Rules {
		var application *temporal.ApplicationError
		require.ErrorAs(t, Errorf(errorType, "text").Application("detail"), &application)
		assert.Equal(t, string(errorType), application.Type())
		assert.Equal(t, "text", application.Message())
		assert.Equal(t, !rule.Retryable, application.NonRetryable(), errorType)
		assert.Equal(t, rule.Delay, application.NextRetryDelay(), errorType)
		assert.Equal(t, rule.Benign, application.Category() == temporal.ApplicationErrorCategoryBenign, errorType)
		var detail string
		require.NoError(t, application.Details(&detail))
		assert.Equal(t, "detail", detail)

		require.ErrorAs(t, Errorf(errorType, "text").Final("detail"), &application)
		assert.True(t, application.NonRetryable(), "%s at the end of an operation", errorType)
		assert.Equal(t, string(errorType), application.Type())
	}
	slower := Errorf(ErrUnderDeletion, "text")
	slower.Delay = time.Minute
	var application *temporal.ApplicationError
	require.ErrorAs(t, slower.Application(), &application)
	assert.Equal(t, time.Minute, application.NextRetryDelay(), "an error's own delay comes first")
}

func TestFailureTextFitsAndStaysText(t *testing.T) {
	for name, text := range map[string]string{
		"short": "short", "at the limit": strings.Repeat("x", maxFailureText),
		"long": strings.Repeat("x", maxFailureText+1), "two bytes": strings.Repeat("é", maxFailureText), "odd two bytes": "x" + strings.Repeat("é", maxFailureText),
		"four bytes": "xyz" + strings.Repeat("😀", maxFailureText), "not text": "a\xffb", "long and not text": "x" + strings.Repeat("\x80y", 2*maxFailureText),
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{Errorf(ErrInternal, "%s", text).Application(), Errorf(ErrInternal, "%s", text).Final()} {
				var application *temporal.ApplicationError
				require.ErrorAs(t, err, &application)
				have := application.Message()
				assert.True(t, utf8.ValidString(have))
				assert.LessOrEqual(t, len(have), maxFailureText+len("…"))
				if utf8.ValidString(text) && len(text) <= maxFailureText {
					assert.Equal(t, text, have)
				}
				if len(text) > maxFailureText {
					assert.True(t, strings.HasSuffix(have, "…"))
					assert.Greater(t, len(have), maxFailureText-4, "nothing is cut that fits")
				}
				failure := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: converter.GetDefaultDataConverter()}).ErrorToFailure(err)
				_, encodeErr := proto.Marshal(failure)
				assert.NoError(t, encodeErr, "Temporal can store it")
			}
		})
	}
}
