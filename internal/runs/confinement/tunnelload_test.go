// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func init() {
	parts["burden"], parts["flood"], parts["download"] = burden, flood, download
}

// load is what came of a program that uses its network as much as it can.
type load struct {
	NoTunnel                      string
	Accepted, Refused, Again      int
	Host, Isolated, Upload        float64 // MB/s
	HostCPU, IsolatedCPU, Started float64
	Memory                        int64
	Report                        string
}

// Volumes of the test.
const (
	floodOf    = 3000
	downloadOf = 256 << 20
)

// supply sends bytes to each connection that asks with a "d", takes them after a "u", and holds
// others.
func supply(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			word := make([]byte, 1)
			if _, err := io.ReadFull(conn, word); err != nil {
				return
			}
			switch piece := make([]byte, 1<<20); word[0] {
			case 'd':
				for sent := 0; sent < downloadOf; sent += len(piece) {
					if _, err := conn.Write(piece); err != nil {
						return
					}
				}
			case 'u':
				n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, conn, piece)
				fmt.Fprint(conn, n)
			default:
				_, _ = io.Copy(io.Discard, conn)
			}
		}()
	}
}

// burden starts the programs, and measures the relay meanwhile.
func burden(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "burden")
	if err != nil {
		return err
	}
	var result load
	if err := walls.ProbeTunnel(ctx); err != nil {
		result.NoTunnel = err.Error()
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ownAddress(), "0"))
	if err != nil {
		return err
	}
	go supply(l)
	s.Targets.OwnAddress = l.Addr().String()
	cell.Limits.Files = 2 * floodOf
	report, err := os.Create(filepath.Join(s.Dir, "report"))
	if err != nil {
		return err
	}
	run := func(part string, isolated bool, into any) error {
		c := cell
		if isolated {
			c.NoNetwork, c.Relay = true, &Relay{Report: report, Allow: []string{s.Targets.OwnAddress}}
		}
		cmd := walls.Command(ctx, c, s.Self)
		cmd.Env = append(s.environment(part), "HOME="+walls.HomeOf(c), "TMPDIR="+walls.TempOf(c))
		var out, problem bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problem
		done, err := walls.StartRelay(c, cmd)
		if err != nil {
			return err
		}
		running, err := Start(cmd)
		done()
		if err != nil {
			return err
		}
		ended := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { // the most memory that the relay has
			for {
				select {
				case <-ended:
					return
				case <-time.After(20 * time.Millisecond):
					result.Memory = max(result.Memory, relayMemoryOf(filepath.Dir(s.Sandbox)+"/"+relayName))
				}
			}
		})
		err = running.Wait(10 * time.Second)
		close(ended)
		watch.Wait()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", part, err, problem.String())
		}
		return json.Unmarshal(out.Bytes(), into)
	}
	var flooded, host, tunnel load
	if err := errors.Join(run("flood", true, &flooded), run("download", false, &host), run("download", true, &tunnel)); err != nil {
		return err
	}
	result.Accepted, result.Refused, result.Again = flooded.Accepted, flooded.Refused, flooded.Again
	result.Host, result.Isolated, result.Upload = host.Host, tunnel.Host, tunnel.Upload
	text, err := os.ReadFile(report.Name())
	result.Report = string(text)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(result))
}

// relayMemoryOf is the resident memory of the relay, without that of files.
func relayMemoryOf(program string) int64 {
	for _, pid := range childrenOf(os.Getpid()) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.HasPrefix(string(line), program) {
			var u Usage
			u.add(pid)
			return u.Memory
		}
	}
	return 0
}

// flood opens more connections than it may have, and asks for as many names; afterwards it connects
// again.
func flood(s scene) error {
	var result load
	var open []net.Conn
	for range floodOf {
		conn, err := net.DialTimeout("tcp", s.Targets.OwnAddress, 5*time.Second)
		if err != nil {
			result.Refused++
			continue
		}
		result.Accepted++
		open = append(open, conn)
	}
	for n := range floodOf {
		if _, err := net.LookupHost(fmt.Sprintf("n%d.example.org", n)); err == nil {
			return errors.New("a name that does not exist was resolved")
		}
	}
	for _, conn := range open {
		conn.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); result.Again < 100 && time.Now().Before(deadline); {
		conn, err := net.DialTimeout("tcp", s.Targets.OwnAddress, 5*time.Second)
		if err != nil {
			time.Sleep(10 * time.Millisecond) // the relay notices the ends
			continue
		}
		conn.Close()
		result.Again++
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// download measures both directions of one connection.
func download(s scene) error {
	var result load
	conn, err := net.Dial("tcp", s.Targets.OwnAddress)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := fmt.Fprint(conn, "d"); err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 1<<20))
	if err != nil || n != downloadOf {
		return fmt.Errorf("%d bytes came: %w", n, err)
	}
	result.Host = float64(n) / 1e6 / time.Since(began).Seconds()
	if conn, err = net.Dial("tcp", s.Targets.OwnAddress); err != nil {
		return err
	}
	began = time.Now()
	piece := make([]byte, 1<<20)
	piece[0] = 'u'
	for sent := 0; sent < downloadOf; sent += len(piece) {
		if _, err := conn.Write(piece); err != nil {
			return err
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil { //nolint:forcetypeassert,errcheck // it is one
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != strconv.Itoa(downloadOf-1) {
		return fmt.Errorf("%q came: %w", answer, err)
	}
	result.Upload = downloadOf / 1e6 / time.Since(began).Seconds()
	return json.NewEncoder(os.Stdout).Encode(result)
}

// TestALoadOnTheRelay floods it with connections and names, and transfers much.
func TestALoadOnTheRelay(t *testing.T) {
	for _, m := range possible(t) {
		if m.name != "root" && m.name != "a user" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			var got load
			if err := json.Unmarshal([]byte(inMode(t, m, "burden", scene{Dir: sceneDir(t, m), Device: everybodys})), &got); err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() != 0 && strings.Contains(got.NoTunnel, noDevice) {
				t.Skip("this user cannot have tunnels: " + got.NoTunnel)
			}
			if got.NoTunnel != "" {
				t.Fatal(got.NoTunnel)
			}
			if got.Accepted != 512 || got.Refused != floodOf-512 || got.Again != 100 {
				t.Errorf("%d connections were accepted, %d refused; %d afterwards", got.Accepted, got.Refused, got.Again)
			}
			if got.Memory > 200<<20 {
				t.Errorf("the relay had %d MiB", got.Memory>>20)
			}
			if lines := strings.Count(got.Report, "\n"); lines > 20 || !strings.Contains(got.Report, "allows 512 connections of a program at a time") {
				t.Errorf("%d lines:\n%s", lines, got.Report)
			}
			t.Logf("download %.0f MB/s, %.2f of the %.0f of the machine's network; upload %.0f MB/s; the relay had %d MiB", got.Isolated, got.Isolated/got.Host, got.Host, got.Upload, got.Memory>>20)
		})
	}
}
