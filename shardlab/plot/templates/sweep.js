for(const sweep of document.querySelectorAll(".sbs-sweep:not(.live)")){
const look=sweep.querySelector("template"),root=document.documentElement;
if(!getComputedStyle(root).getPropertyValue("--films")&&
!document.getElementById("sbs-sweeps")){const style=
document.createElement("style");style.id="sbs-sweeps";
style.textContent=look.content.textContent;document.head.append(style)}
const moments=[...sweep.querySelectorAll(".m")],
bar=sweep.querySelector("input"),says=sweep.querySelector("output"),
plot=sweep.querySelector(".plot");
const show=()=>{moments.forEach((m,i)=>m.classList.toggle("on",i==bar.value));
const words=moments[bar.value].dataset.says;says.textContent=words;
plot.setAttribute("aria-label",words);bar.setAttribute("aria-valuetext",words)};
bar.oninput=show;bar.onkeydown=e=>e.stopPropagation();
sweep.classList.add("live");bar.hidden=sweep.querySelector(".ends").hidden=false;show()}
