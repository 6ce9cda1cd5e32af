// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// ports are the server's ports, according to the kernel.
func (y *yuba) ports(t *testing.T) []string {
	t.Helper()
	sockets := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", y.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if inode, ok := strings.CutPrefix(linkOf(file), "socket:["); ok {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	var ports []string
	for line := range strings.Lines(string(table)) {
		const local, state, inode, listening = 1, 3, 9, "0A"
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[state] != listening || !sockets[fields[inode]] {
			continue
		}
		_, hex, _ := strings.Cut(fields[local], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return ports
}

func linkOf(link string) string {
	target, _ := os.Readlink(link) //nolint:errcheck // a file that was closed meanwhile is none
	return target
}

// flood keeps this many connections to an address open until ctx ends, begins a request on each,
// and counts them.
func flood(ctx context.Context, address string, connections int, opened *atomic.Int64) {
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				conn, err := net.DialTimeout("tcp", address, 5*time.Second)
				if err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				opened.Add(1)
				stop := context.AfterFunc(ctx, func() { conn.Close() })                                //nolint:errcheck // its end is all that is wanted
				io.WriteString(conn, "POST /unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n") //nolint:errcheck // it may have been cut off
				io.Copy(io.Discard, conn)                                                              //nolint:errcheck // until it is cut off
				stop()
				conn.Close() //nolint:errcheck // its end is all that is wanted
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	all.Wait()
}

// Regression: unlimited connections used all of the server's files, etcd could not rotate its log,
// and Yuba ended.
func TestConnectionsWithoutEndStopNobody(t *testing.T) {
	y, err := newYuba(t.TempDir(), "--tofu", tofutest.Tofu(t))
	if err != nil {
		t.Fatal(err)
	}
	y.files = 600
	if err := y.start(); err != nil {
		t.Fatal(err)
	}
	y.endsWith(t)
	ns := y.namespace(t)
	ports := y.ports(t)
	if len(ports) != 5 { // the API, the web, etcd, the registry, and what runners call
		t.Fatalf("the server listens at %v", ports)
	}
	ctx, stop := context.WithCancel(t.Context())
	const perPort = 400
	var floods sync.WaitGroup
	var opened atomic.Int64
	for _, port := range ports {
		floods.Go(func() { flood(ctx, port, perPort, &opened) })
	}
	defer floods.Wait()
	defer stop()
	// After the second round, the server has ended connections to make room.
	for deadline := time.Now().Add(patience); opened.Load() < int64(2*perPort*len(ports)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d connections were opened", opened.Load())
		}
	}
	for i := range 3 {
		// New clients of the API, the web and runs get connections, and their work is stored.
		obj := inline(ns, fmt.Sprint("flooded-", i), `output "x" { value = 1 }`, auto)
		y.create(t, obj)
		y.await(t, obj, "it is applied", ready)
		if out, news, code := y.run(t, "-n", ns, "outputs", obj.Name); code != 0 {
			t.Errorf("outputs: %s%s", out, news)
		}
		response, err := http.Get("http://" + y.http + "/readyz") //nolint:forbidigo,noctx // as a probe does
		if err != nil {
			t.Errorf("the probe: %v", err)
			continue
		}
		response.Body.Close() //nolint:errcheck // its status is all that is wanted
		if response.StatusCode != http.StatusOK {
			t.Errorf("the probe says %s", response.Status)
		}
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", y.cmd.Process.Pid))
	if err != nil || len(files) > y.files*9/10 {
		t.Errorf("the server has %d files open of %d, %v", len(files), y.files, err)
	}
}
