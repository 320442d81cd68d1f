for(const film of document.querySelectorAll(".sbs-film:not(.live)")){
const look=film.querySelector("template"),root=document.documentElement;
if(!getComputedStyle(root).getPropertyValue("--films")&&
!document.getElementById("sbs-films")){const style=
document.createElement("style");style.id="sbs-films";
style.textContent=look.content.textContent;document.head.append(style)}
const frames=[...film.querySelectorAll("figure")],
bar=film.querySelector(".bar"),says=film.querySelector("output"),
at=bar.querySelector("input"),
[back,play,step,speed]=bar.querySelectorAll("button"),
last=frames.length-1,paces=[1,2,.5],told=film.dataset.poster,
poster=told?+told:Math.max(Math.min(1,last),last>>1);
let now=poster,timer=0,pace=0,fresh=false;
const show=n=>{film.classList.toggle("go",n>now);fresh=false;
now=Math.max(0,Math.min(n,last));at.value=now;
frames.forEach((f,i)=>f.classList.toggle("on",i===now));
const words=frames[now].querySelector("figcaption").textContent;
says.textContent=words;at.setAttribute("aria-valuetext",words)};
const stop=()=>{clearInterval(timer);timer=0;play.textContent="Play"};
const tick=()=>{show(now+1);if(now===last)stop()};
const start=()=>{play.textContent="Pause";
timer=setInterval(tick,1500/paces[pace])};
const run=()=>{if(timer)return stop();if(fresh||now===last)show(0);start();tick()};
const go=n=>{stop();show(n)};
back.onclick=()=>go(now-1);play.onclick=run;step.onclick=()=>go(now+1);
at.oninput=()=>go(+at.value);at.onkeydown=e=>e.stopPropagation();
speed.onclick=()=>{pace=(pace+1)%paces.length;
speed.textContent=["1×","2×","½×"][pace];if(timer){clearInterval(timer);start()}};
film.onkeydown=e=>{const key={ArrowLeft:()=>go(now-1),ArrowRight:()=>go(now+1),
Home:()=>go(0),End:()=>go(last)," ":run}[e.key];
if(!key||e.ctrlKey||e.altKey||e.metaKey)return;e.stopPropagation();
if(e.key===" "&&e.target!==film)return;e.preventDefault();key()};
film.classList.add("live");bar.hidden=false;show(poster);
if(poster){fresh=true;says.textContent=
says.textContent.replace(/\.?$/,". Play starts at the beginning.")}}
