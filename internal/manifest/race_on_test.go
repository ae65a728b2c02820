//go:build race

package manifest

const raceDetector = true
