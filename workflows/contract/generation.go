package contract

import (
	"fmt"
	"strconv"
)

// ParseGeneration reads the value of the annotation hyperfleet.io/generation: a positive decimal integer.
func ParseGeneration(text string) (int64, error) {
	generation, err := strconv.ParseInt(text, 10, 64)
	if err != nil || generation <= 0 {
		return 0, fmt.Errorf("annotation %s %q: give a positive integer", AnnotationGeneration, text)
	}
	return generation, nil
}

// Standing is how a request relates to the one that an operation works for.
type Standing int

// Standings.
const (
	// StandingAttach: the same request; its outcome serves both.
	StandingAttach Standing = iota
	// StandingNewer: it takes over, and the older request ends as Superseded.
	StandingNewer
	// StandingOlder: refused as Superseded, never written.
	StandingOlder
	// StandingConflict: the same generation with other content, refused as GenerationConflict.
	StandingConflict
)

// Compare decides what happens to offered while an operation works for current. A request without a generation is
// always newer, unless it is the same request. Equal generation and content with another wait takes over: the content
// that was written stays, and only the wait starts again.
func Compare(current, offered Request) Standing {
	if current.Digest() == offered.Digest() {
		return StandingAttach
	}
	have, _ := current.EffectiveGeneration()
	want, _ := offered.EffectiveGeneration()
	switch {
	case want == 0 || have == 0 || want > have:
		return StandingNewer
	case want < have:
		return StandingOlder
	case offered.Force || current.ContentDigest() == offered.ContentDigest():
		return StandingNewer
	default:
		return StandingConflict
	}
}
