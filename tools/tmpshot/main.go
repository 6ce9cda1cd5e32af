package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"
)

func main() {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium"), chromedp.NoSandbox, chromedp.WindowSize(1200, 1000))
	ctx, c := chromedp.NewExecAllocator(context.Background(), opts...)
	defer c()
	ctx, c = chromedp.NewContext(ctx)
	defer c()
	ctx, c = context.WithTimeout(ctx, 100*time.Second)
	defer c()
	if err := chromedp.Run(ctx, chromedp.Navigate(os.Args[1]), chromedp.Sleep(3*time.Second)); err != nil {
		fmt.Println(err)
	}
	for i, a := range os.Args[2:] {
		var buf []byte
		if err := chromedp.Run(ctx, chromedp.Navigate(a), chromedp.Sleep(1500*time.Millisecond), chromedp.FullScreenshot(&buf, 80)); err != nil {
			fmt.Println(a, err)
			continue
		}
		os.WriteFile(fmt.Sprintf("/tmp/w1s%d.jpg", i), buf, 0o644)
	}
}
