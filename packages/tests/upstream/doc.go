// Package upstream holds no code but its test.
package upstream
