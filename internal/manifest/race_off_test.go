//go:build !race

package manifest

const raceDetector = false
