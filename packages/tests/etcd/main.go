// The etcd server of the release in go.mod. `go install` cannot build it, because etcd's own go.mod replaces modules.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
