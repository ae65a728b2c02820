// Package config holds the configuration of the two programs, [Worker] and [CLI], and is the only importer of viper.
//
// Every setting is one struct field with a key, an environment variable, a default, a check and a line of documentation
// in its tags; flags, environment, file, checks and docs/configuration.md all come from there.
//
// Guarantees: [Load] finds all problems at once and names the key of each, with the flag and the variable that set it; a
// key of the file that no field has is an error; a default never contains a value of the environment, so that --help
// shows no secret.
//
// Non-guarantees: nothing is read again while a program runs.
//
// Start reading at [Worker], then at [Load].
package config
