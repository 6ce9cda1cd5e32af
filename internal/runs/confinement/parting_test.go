// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"
)

func init() { parts["parting"], parts["last words"] = parting, lastWords }

// parting starts a program that ends before a slow server has read what it sent. It prints how many
// bytes were sent and how many came.
func parting(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "parting")
	if err != nil {
		return err
	}
	if err := walls.ProbeTunnel(ctx); err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ownAddress(), "0"))
	if err != nil {
		return err
	}
	s.Targets.OwnAddress = l.Addr().String()
	ended, came := make(chan struct{}), make(chan int64, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		<-ended
		time.Sleep(200 * time.Millisecond) // the relay must not have ended meanwhile
		n, _ := io.Copy(io.Discard, conn)
		came <- n
	}()
	cell.NoNetwork, cell.Relay = true, &Relay{Allow: []string{s.Targets.OwnAddress}}
	cmd := walls.Command(ctx, cell, s.Self)
	cmd.Env = append(s.environment("last words"), "HOME="+walls.HomeOf(cell), "TMPDIR="+walls.TempOf(cell))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	done, err := walls.StartRelay(cell, cmd)
	if err != nil {
		return err
	}
	running, err := Start(cmd)
	done()
	if err != nil {
		return err
	}
	if err := running.Wait(10 * time.Second); err != nil {
		return err
	}
	close(ended)
	sent, err := strconv.ParseInt(out.String(), 10, 64)
	if err != nil {
		return err
	}
	select {
	case n := <-came:
		return json.NewEncoder(os.Stdout).Encode([]int64{sent, n})
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastWords sends until all queues are full, and ends.
func lastWords(s scene) error {
	conn, err := net.Dial("tcp", s.Targets.OwnAddress)
	if err != nil {
		return err
	}
	sent, piece := 0, make([]byte, 64<<10)
	for {
		if err := conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			return err
		}
		n, err := conn.Write(piece)
		sent += n
		if err != nil {
			break
		}
	}
	_, err = fmt.Print(sent)
	return err
}

func TestWhatAProgramSentLastArrives(t *testing.T) {
	for _, m := range possible(t) {
		if m.name != "root" {
			continue
		}
		var got []int64
		if err := json.Unmarshal([]byte(inMode(t, m, "parting", scene{Dir: sceneDir(t, m), Device: everybodys})), &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0] == 0 || got[0] != got[1] {
			t.Errorf("sent and received: %d", got)
		}
	}
}
